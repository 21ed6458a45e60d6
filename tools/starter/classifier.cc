// A classifier of the user's images: a proven net, adapted to their number of classes, size and colours, and a schedule
// for their number.
#include <algorithm>

#include "core/files/file.h"
#include "proto/text/write_text.h"
#include "tools/output/progress.h"
#include "tools/output/terminal.h"
#include "tools/starter/dataset_folder.h"
#include "tools/starter/head.h"
#include "tools/starter/project_text.h"
#include "tools/starter/schedule.h"
#include "tools/starter/starting_net.h"
#include "tools/starter/transform.h"

namespace cortado::tools {

namespace {

constexpr int kSmallSide = 64;          ///< up to this side, the net's variant for small images is used
constexpr float kNewLayersFaster = 10;  ///< factor of the learning rate over that of pretrained layers

std::string default_start(const data::DatasetStats& stats) {
  return stats.short_side.typical() <= 40 ? "lenet" : "resnet18";
}

/// All choices, and the net.
struct Design {
  DatasetFolder data;
  StartingNet start;
  caffe::NetParameter net;
  std::vector<int> heads;  ///< the layers of `net` that score classes
  TransformChoice transform;
  Schedule schedule;
  Choices choices;             ///< of the net
  std::string score;           ///< the blob of the accuracy
  std::string weights;         ///< to start from; "": random ones
  Trunk trunk = Trunk::kAuto;  ///< chosen if there are weights
};

void remove_data_layers(caffe::NetParameter& net) {
  for (int i = net.layer_size(); i-- > 0;)
    if (net.layer(i).bottom_size() == 0) net.mutable_layer()->DeleteSubrange(i, 1);
}

/// The blobs of images and labels in the starting net.
std::pair<std::string, std::string> data_tops(const caffe::NetParameter& net) {
  for (const caffe::LayerParameter& layer : net.layer())
    if (layer.bottom_size() == 0 && layer.top_size() == 2) return {layer.top(0), layer.top(1)};
  return {"data", "label"};
}

caffe::LayerParameter make_data_layer(const Design& design, caffe::Phase phase) {
  const bool trains = phase == caffe::TRAIN;
  const auto [images, labels] = data_tops(design.start.file->net);
  caffe::LayerParameter layer;
  layer.set_name("data");
  layer.set_type("Data");
  layer.add_top(images);
  layer.add_top(labels);
  layer.add_include()->set_phase(phase);
  *layer.mutable_transform_param() = trains ? design.transform.train : design.transform.test;
  caffe::DataParameter& data = *layer.mutable_data_param();
  data.set_source(trains ? design.data.train : design.data.test);
  data.set_batch_size(uint32_t(trains ? design.schedule.batch : design.schedule.test_batch));
  data.set_backend(caffe::DataParameter::LMDB);
  if (trains) data.set_shuffle(true);
  return layer;
}

/// One data layer.
std::string data_text(const Design& design, caffe::Phase phase, const Project& project) {
  caffe::NetParameter net;
  *net.add_layer() = make_data_layer(design, phase);
  return layers_text(std::move(net), project);
}

std::string net_text(const Design& design, const Project& project) {
  std::string text = "# " + project.data_line + "\n# Made by `cortado new classifier`.\n";
  text += comments_of(design.choices) + "name: \"" + word_of(project.folder) + "\"\n" + relative_line() +
          "# Data of training:\n" + comments_of(design.transform.choices) + comments_of({design.schedule.choices[0]}) +
          data_text(design, caffe::TRAIN, project) + "# Data of testing, each image once:\n" +
          data_text(design, caffe::TEST, project);
  caffe::NetParameter rest = design.net;
  remove_data_layers(rest);
  return text + layers_text(std::move(rest), project);
}

Design design_of(const ProjectOptions& options) {
  Design design;
  CountedProgress progress("read " + options.data);
  design.data = read_dataset_folder(options.data, progress.callback());
  progress.finish();
  const data::DatasetStats& stats = design.data.stats;
  const std::string from = options.from.empty() ? default_start(stats) : options.from;
  design.weights = !options.weights.empty() || options.scratch ? options.weights : trained_weights(from);
  const bool trained = !design.weights.empty();
  design.start = read_starting_net(from, !trained && stats.short_side.typical() <= kSmallSide);
  design.choices.push_back({"net", design.start.name + (design.start.small_form ? " for small images" : ""),
                            options.from.empty() ? "for images of this size" : "--from"});
  if (trained) {
    design.choices.push_back({"weights", file_name_of(design.weights), "trained on other images"});
    design.trunk = choose_trunk(options.trunk, stats.records, design.choices);
  }
  design.net = design.start.file->net;
  const std::string suffix = trained ? word_of(options.data) : "";
  const Choices head = set_classes(design.net, head_layers(design.net, from), design.data.classes(), suffix,
                                   design.trunk == Trunk::kSlow ? kNewLayersFaster : 1);
  design.choices.insert(design.choices.end(), head.begin(), head.end());
  design.score = accuracy_blob(design.net);
  design.heads = head_layers(design.net, from);  // set_classes() may have removed layers
  const bool any_side =
      pool_globally(design.net, design.heads) && design.heads.size() == 1;  // other nets read positions
  design.transform =
      choose_transform(design.data, design.start, {.side = options.side, .any_side = any_side, .keep_values = trained});
  design.schedule = choose_schedule(stats.records, design.start.recipe,
                                    {.batch = options.batch,
                                     .epochs = options.epochs,
                                     .from_weights = trained,
                                     .slow = design.trunk == Trunk::kSlow});
  return design;
}

/// Writes the net's text into the project, and reads it.
std::shared_ptr<const NetFile> write_net(const Design& design, Project& project) {
  project.net = net_text(design, project);
  return std::make_shared<NetFile>(read_net_from_text(project.net, project.net_path()));
}

/// Advice to begin with trained weights, for few photographs.
std::string hint_for(const Design& design, const ProjectOptions& options) {
  constexpr int64_t kFew = 20000;
  constexpr const char* kTrained = "efficientnet_lite0";
  const data::DatasetStats& stats = design.data.stats;
  const bool photographs = stats.channels() == 3 && stats.short_side.typical() > kSmallSide;
  if (!design.weights.empty() || options.scratch || !photographs || stats.records >= kFew) return "";
  const std::vector<std::string> known = known_starts("classifier");
  if (std::find(known.begin(), known.end(), kTrained) == known.end()) return "";
  const std::string get =
      trained_weights(kTrained).empty() ? "get its weights with scripts/fetch_backbone.sh, then " : "";
  return count_text(stats.records) + " images are few for random weights; " + get + "add --from=" + kTrained +
         " to start from a trained net";
}

}  // namespace

Project make_classifier(const ProjectOptions& options) {
  Design design = design_of(options);
  Project project;
  project.folder = without_trailing_slashes(options.output);
  project.data_line =
      describe_data(design.data.path, design.data.classes(), design.data.stats.records, design.data.test_records);
  auto net = write_net(design, project);
  if (!design.weights.empty()) {
    prepare_trunk(design.net, design.heads, net, design.trunk);
    net = write_net(design, project);
  }
  project.flops = try_out(net);
  project.images = design.schedule.epochs * design.data.stats.records;
  project.deploy = deploy_text(*net, project, "");
  project.solver = solver_text(project, design.schedule, design.start.recipe, design.weights, design.score,
                               design.data.test_records);
  project.hint = hint_for(design, options);
  for (const std::string& label : design.data.names) project.labels += label + "\n";
  for (const Choices& some : {design.choices, design.transform.choices, design.schedule.choices})
    project.choices.insert(project.choices.end(), some.begin(), some.end());
  return project;
}

}  // namespace cortado::tools
