#include "proto/files/relative_paths.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "proto/files/override.h"
#include "proto/files/read_text.h"

namespace cortado {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

void collect_texts(const Descriptor& message, std::set<const Descriptor*>& seen, std::set<std::string>& names) {
  if (!seen.insert(&message).second) return;
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    if (field.message_type()) collect_texts(*field.message_type(), seen, names);
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING && field.type() != FieldDescriptor::TYPE_BYTES)
      names.insert((is_path_field(field) ? "+" : "-") + std::string(field.name()));
  }
}

/// A new text field of the schema must be added to one of the two: to is_path_field() if it holds a path, else here.
TEST(RelativePaths, AreKnownOfAllTextFields) {
  const std::set<std::string> others = {"aug_way",
                                        "ap_version",
                                        "bbox_loss_type",
                                        "bilateral_filter_weights_str",
                                        "bottom",
                                        "calibrator",
                                        "class_map",
                                        "conv_algorithm",
                                        "conv_algos_override",
                                        "coverage",
                                        "crop_mode",
                                        "default_conv_algos_override",
                                        "deploy",
                                        "deploy_outputs",
                                        "det_crop_mode",
                                        "distance_type",
                                        "engine",
                                        "eval_type",
                                        "exclude_blob",
                                        "expose",
                                        "higher_is_better",
                                        "img_header",
                                        "input",
                                        "keep_best",
                                        "kept_bn_layers",
                                        "larc_policy",
                                        "layer",
                                        "layer_from",
                                        "layer_to",
                                        "layer_type",
                                        "lower_is_better",
                                        "lr_policy",
                                        "metric",
                                        "model",
                                        "module",
                                        "momentum_policy",
                                        "name",
                                        "name_pattern",
                                        "neg_mining_type",
                                        "neg_ranking_type",
                                        "negative_conv_names",
                                        "nms_type",
                                        "normalize_type",
                                        "not_stage",
                                        "output_format",
                                        "output_name_prefix",
                                        "param",
                                        "param_str",
                                        "param_str_",
                                        "plateau_metric",
                                        "precision",
                                        "regularization_type",
                                        "sample_mode",
                                        "sampler_type",
                                        "shuffle",
                                        "snapshot_every",
                                        "softmax_tree",
                                        "spatial_filter_weights_str",
                                        "stage",
                                        "top",
                                        "transform_type",
                                        "type",
                                        "warmup_policy",
                                        "weight_decay_policy"};
  std::set<std::string> names;
  std::set<const Descriptor*> seen;
  for (const Descriptor* root : {caffe::NetParameter::descriptor(), caffe::SolverParameter::descriptor()})
    collect_texts(*root, seen, names);
  for (const std::string& name : names)
    if (name[0] == '-') {
      EXPECT_TRUE(others.contains(name.substr(1))) << name.substr(1) << ": a path?";
    }
  for (const std::string& name : others) EXPECT_TRUE(names.contains("-" + name)) << name;
}

const char* const kNetText = R"(relative_to_file: true
  layer { name: "a" type: "Data" top: "a" transform_param { mean_file: "mean.binaryproto" }
          data_param { source: "../db" } }
  layer { name: "b" type: "ImageData" top: "b" top: "c" image_data_param { source: "/lists/b" root_folder: "im/" } }
  layer { name: "d" type: "InnerProduct" bottom: "a" top: "d"
          inner_product_param { weight_filler { type: "file" file: "w.txt" } } })";

std::string paths_of(const caffe::NetParameter& net) {
  return net.layer(0).data_param().source() + " " + net.layer(0).transform_param().mean_file() + " " +
         net.layer(1).image_data_param().source() + " " + net.layer(1).image_data_param().root_folder() + " " +
         net.layer(2).inner_product_param().weight_filler().file();
}

TEST(RelativePaths, OfANetFollowItsFile) {
  const caffe::NetParameter net = read_net_from_text(kNetText, "my/nets/n.prototxt").net;
  EXPECT_FALSE(net.has_relative_to_file()) << "paths in the message are those of the program";
  EXPECT_EQ(paths_of(net), "my/db my/nets/mean.binaryproto /lists/b my/nets/im/ my/nets/w.txt");
  EXPECT_EQ(paths_of(read_net_from_text(kNetText, "n.prototxt").net), "../db mean.binaryproto /lists/b im/ w.txt");
  const std::string caffes = std::string(kNetText).substr(std::string(kNetText).find('\n'));
  EXPECT_EQ(paths_of(read_net_from_text(caffes, "my/n.prototxt").net), "../db mean.binaryproto /lists/b im/ w.txt");
}

TEST(RelativePaths, OfASolverFollowItsFile) {
  const char* const text = R"(net: "n.prototxt" test_net: "t/n.prototxt" weights: "a.caffemodel, /b.caffemodel ,c"
                              snapshot_prefix: "snapshots/x" net_param { layer { data_param { source: "db" } } } )";
  caffe::SolverParameter solver =
      read_solver_from_text(std::string(text) + "relative_to_file: true", "my/s.prototxt").solver;
  EXPECT_FALSE(solver.has_relative_to_file());
  EXPECT_EQ(solver.net() + " " + solver.test_net(0), "my/n.prototxt my/t/n.prototxt");
  EXPECT_EQ(solver.weights(0), "my/a.caffemodel, /b.caffemodel ,my/c");
  EXPECT_EQ(solver.snapshot_prefix(), "my/snapshots/x");
  EXPECT_EQ(solver.net_param().layer(0).data_param().source(), "my/db");
  solver = read_solver_from_text(text, "my/s.prototxt").solver;
  EXPECT_EQ(solver.snapshot_prefix() + " " + solver.net(), "snapshots/x n.prototxt");
  solver = read_solver_from_text("net_param { relative_to_file: true layer { data_param { source: \"db\" } } }",
                                 "my/s.prototxt")
               .solver;
  EXPECT_EQ(solver.net_param().layer(0).data_param().source(), "my/db");
  EXPECT_EQ(solver.snapshot_prefix(), "my/s");
}

TEST(RelativePaths, ComeFromPathsOfTheProgram) {
  const std::filesystem::path here = std::filesystem::current_path();
  EXPECT_EQ(path_from_folder("my", "my/snapshots/x"), "snapshots/x");
  EXPECT_EQ(path_from_folder("my/", "my/x_"), "x_");
  EXPECT_EQ(path_from_folder("my", "db"), "../db");
  EXPECT_EQ(path_from_folder("a/b", "./c//d/"), "../../c/d/");
  EXPECT_EQ(path_from_folder("", "db/x"), "db/x");
  EXPECT_EQ(path_from_folder(".", "../db"), "../db");
  EXPECT_EQ(path_from_folder("my", (here / "db").string()), "../db");
  EXPECT_EQ(path_from_folder((here / "my").string(), "db"), "../db");
  EXPECT_EQ(path_from_folder("my", "/nowhere_else/db"), "/nowhere_else/db") << "they share only the root";
  EXPECT_EQ(path_from_folder("my", ""), "");
}

TEST(RelativePaths, FollowLinksOfTheFolder) {
  const std::filesystem::path root = testing::TempDir() + "relative_paths_" + std::to_string(::getpid());
  std::filesystem::create_directories(root / "far/my");
  std::filesystem::create_directories(root / "db");
  std::filesystem::create_directory_symlink(root / "far", root / "near");
  const std::string path = path_from_folder((root / "near/my").string(), (root / "db/x").string());
  EXPECT_TRUE(std::filesystem::equivalent((root / "near/my" / path).parent_path(), root / "db")) << path;
  std::filesystem::create_directory_symlink(root / "far/my", root / "link");
  const std::string text = "relative_to_file: true layer { data_param { source: '../db' } }";
  EXPECT_EQ(read_net_from_text(text, (root / "link/n").string()).net.layer(0).data_param().source(),
            (root / "link/../db").string())
      << "which is far/db";
  EXPECT_EQ(read_net_from_text(text, (root / "far/n").string()).net.layer(0).data_param().source(),
            (root / "db").string());
  std::filesystem::remove_all(root);
}

TEST(RelativePaths, CannotBeChosenOnACommandLine) {
  NetFile net = read_net_from_text(kNetText, "my/n.prototxt");
  EXPECT_THROW(Overrides({"net.relative_to_file=true"}).apply(net), Error);
}

TEST(RelativePaths, OfACommandLineAreThoseOfTheFile) {
  NetFile net = read_net_from_text(kNetText, "my/n.prototxt"),
          caffes = read_net_from_text("name: 'n'", "my/n.prototxt");
  Overrides({"net.layer[a].data_param.source=other", "net.layer[b].image_data_param={ source: 'list' }",
             "net.layer[b].image_data_param.root_folder=/im/"})
      .apply(net);
  EXPECT_EQ(paths_of(net.net), "my/other my/mean.binaryproto my/list /im/ my/w.txt");
  Overrides({"net.layer+={ data_param { source: 'other' } }"}).apply(caffes);
  EXPECT_EQ(caffes.net.layer(0).data_param().source(), "other");
  SolverFile solver = read_solver_from_text("relative_to_file: true", "my/s.prototxt");
  Overrides({"solver.snapshot_prefix=out/x", "solver.weights+=w.caffemodel"}).apply(solver);
  EXPECT_EQ(solver.solver.snapshot_prefix() + " " + solver.solver.weights(0), "my/out/x my/w.caffemodel");
}

}  // namespace
}  // namespace cortado
