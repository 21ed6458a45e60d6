// Fields set on the command line: values, positions, errors.
#include "proto/files/override.h"

#include <gtest/gtest.h>

#include "tests/harness/errors.h"

namespace cortado {

namespace {

constexpr char kNet[] = R"(name: "n"
layer { name: "data" type: "Data" top: "data" data_param { source: "a" batch_size: 4 } include { phase: TRAIN } }
layer { name: "data" type: "Data" top: "data" data_param { source: "b" batch_size: 4 } include { phase: TEST } }
layer { name: "conv.1]" type: "Convolution" bottom: "data" top: "conv" )"
                        R"(convolution_param { num_output: 3 pad: 1 pad: 2 } }
)";

NetFile net_with(const std::vector<std::string>& texts) {
  NetFile file = read_net_from_text(kNet, "net.prototxt");
  Overrides(texts).apply(file);
  return file;
}

std::string mistake_of(const std::vector<std::string>& texts) {
  return error_of([&] { net_with(texts); }, {});  // kUsage for a wrong path, kNet for a wrong net
}

}  // namespace

TEST(Override, SetsEveryKindOfValue) {
  const NetFile file = net_with({"net.layer[2].convolution_param.num_output=64", "net.name=a b=c", "net.name=\"q\" 'r'",
                                 "net.layer[0].transform_param.scale=-2.5e-3", "net.force_backward=true",
                                 "net.layer[2].convolution_param.engine=CAFFE",
                                 "net.layer[2].convolution_param.weight_filler={ type: 'xavier' std: 3 }"});
  const caffe::ConvolutionParameter& conv = file.net.layer(2).convolution_param();
  EXPECT_EQ(conv.num_output(), 64U);
  EXPECT_EQ(file.net.name(), "qr");
  EXPECT_FLOAT_EQ(file.net.layer(0).transform_param().scale(), -2.5e-3F);
  EXPECT_TRUE(file.net.force_backward());
  EXPECT_EQ(conv.engine(), caffe::ConvolutionParameter::CAFFE);
  EXPECT_EQ(conv.weight_filler().type(), "xavier");
  EXPECT_FLOAT_EQ(conv.weight_filler().std(), 3);
  EXPECT_EQ(conv.pad_size(), 2) << "other fields are unchanged";
}

TEST(Override, ReplacesAppendsAndSelects) {
  const std::string conv = "net.layer[\"conv.1]\"].";
  EXPECT_EQ(net_with({conv + "convolution_param.pad=7"}).net.layer(2).convolution_param().pad_size(), 1);
  const NetFile file = net_with({conv + "convolution_param.pad+=[8, 9]", conv + "convolution_param.pad[1]=5",
                                 conv + "bottom+=label", conv + "bottom[0]=/x y", conv + "param+={ lr_mult: 2 }",
                                 conv + "param[0].decay_mult=0", "net.layer[0].include=[]"});
  const caffe::LayerParameter& layer = file.net.layer(2);
  const auto& pads = layer.convolution_param().pad();
  EXPECT_EQ(std::vector<uint32_t>(pads.begin(), pads.end()), (std::vector<uint32_t>{1, 5, 8, 9}));
  EXPECT_EQ(layer.bottom(0), "/x y");
  EXPECT_EQ(layer.bottom(1), "label");
  EXPECT_FLOAT_EQ(layer.param(0).lr_mult(), 2);
  EXPECT_FLOAT_EQ(layer.param(0).decay_mult(), 0);
  EXPECT_EQ(file.net.layer(0).include_size(), 0);
}

TEST(Override, KeepsPositions) {
  const NetFile file =
      net_with({"net.name=other", "net.layer[2].convolution_param.pad+=[8,\n9]", "net.layer[2].top[0]=t"});
  const auto place = [&file](const char* path) { return file.positions.place(path); };
  EXPECT_EQ(place("layer[2].convolution_param.pad[1]").str(), "net.prototxt:4:118");
  EXPECT_EQ(place("layer[2].convolution_param.pad[2]").str(), "--set:2:38");
  EXPECT_EQ(place("layer[2].convolution_param.pad[3]").str(), "--set:3:1");
  EXPECT_EQ(place("layer[2].convolution_param.pad[3]").text, "9]");
  EXPECT_EQ(place("layer[2].top[0]").str(), "--set:4:21");
  EXPECT_EQ(place("layer[2].top[0]").text, "net.layer[2].top[0]=t");
  EXPECT_EQ(file.positions.name_place("name").str(), "--set:1:5");
  EXPECT_EQ(place("layer[1].data_param.source").str(), "net.prototxt:3:68");
}

TEST(Override, UpgradesOldForms) {
  const NetFile net = net_with({"net.layer[0].data_param.crop_size=9"});
  EXPECT_EQ(net.net.layer(0).transform_param().crop_size(), 9U);
  EXPECT_EQ(net.positions.place("layer[0].transform_param.crop_size").str(), "--set:1:35");
  SolverFile solver = read_solver_from_text("net: 'n' type: 'Adam' base_lr: 1", "folder/s.prototxt");
  Overrides({"solver.solver_type=NESTEROV", "solver.stepvalue+=3", "net.name=x"}).apply(solver);
  EXPECT_EQ(solver.solver.type(), "Nesterov");
  EXPECT_EQ(solver.solver.stepvalue(0), 3);
  EXPECT_EQ(solver.solver.snapshot_prefix(), "folder/s");
}

TEST(Override, AnEmptyValueClears) {
  const NetFile file =
      net_with({"net.name=", "net.layer[2].convolution_param.num_output= ", "net.layer[2].convolution_param.pad[0]=",
                "net.layer[0]=", "net.layer[0].data_param="});
  EXPECT_FALSE(file.net.has_name());
  ASSERT_EQ(file.net.layer_size(), 2);
  EXPECT_FALSE(file.net.layer(0).has_data_param());
  EXPECT_EQ(file.net.layer(0).include(0).phase(), caffe::TEST);
  EXPECT_FALSE(file.net.layer(1).convolution_param().has_num_output());
  ASSERT_EQ(file.net.layer(1).convolution_param().pad_size(), 1);
  EXPECT_EQ(file.net.layer(1).convolution_param().pad(0), 2U);
  EXPECT_EQ(file.positions.place("layer[1].convolution_param.pad[0]").str(), "net.prototxt:4:118");
  EXPECT_EQ(file.positions.place("layer[0]").line, 3);
  EXPECT_FALSE(net_with({"net.name=x", "net.name="}).net.has_name());
  EXPECT_EQ(net_with({"net.name=\"\""}).net.name(), "");
  EXPECT_NE(mistake_of({"net.layer[2].convolution_param.pad+="}).find("a value is missing"), std::string::npos);
  EXPECT_NE(mistake_of({"net.layer[3]="}).find("'layer' has 3 elements"), std::string::npos);
}

TEST(Override, SetsInputsInTheirOldFields) {
  const auto input = [](const std::string& text, const std::vector<std::string>& overrides) {
    NetFile file = read_net_from_text(text + " layers { name: 'r' type: RELU bottom: 'a' top: 'r' }", "old.prototxt");
    Overrides(overrides).apply(file);
    EXPECT_EQ(file.net.layer_size(), 2);
    EXPECT_EQ(file.net.layer(1).name(), "r");
    std::string shapes = file.positions.place("layer[0].input_param.shape[0].dim[2]").file + ":";
    for (const caffe::BlobShape& shape : file.net.layer(0).input_param().shape()) {
      shapes += " ";
      for (const int64_t dim : shape.dim()) shapes += std::to_string(dim) + ",";
    }
    return shapes;
  };
  const std::string dims = "input: 'a' input_dim: 1 input_dim: 3 input_dim: 8 input_dim: 9";
  EXPECT_EQ(input(dims, {"net.input_dim=[2, 3, 100, 80]"}), "--set: 2,3,100,80,");
  EXPECT_EQ(input(dims, {"net.layer[r].name=r", "net.layer[1].top[0]=q", "net.input_dim[2]=5"}), "--set: 1,3,5,9,");
  EXPECT_EQ(input(dims, {"net.input_dim[3]=5"}), "old.prototxt: 1,3,8,5,");
  EXPECT_EQ(input(dims, {"net.input_shape={ dim: [4, 5, 6] }"}), "--set: 4,5,6,");
  const std::string shapes = "input: 'a' input: 'b' input_shape { dim: [1, 2] } input_shape { dim: [3] }";
  EXPECT_EQ(input(shapes, {"net.input_shape[1].dim[0]=7"}), "old.prototxt: 1,2, 7,");
  EXPECT_EQ(input(shapes, {"net.input_dim=[1, 2, 3, 4, 5, 6, 7, 8]"}), "--set: 1,2,3,4, 5,6,7,8,");
  EXPECT_NE(mistake_of({"net.input_dim=[1, 2, 3, 4]"}).find("an Input layer has its shapes in input_param"),
            std::string::npos);
}

TEST(Override, ReportsEveryErrorInItsText) {
  const std::string both = mistake_of({"net.nam=x", "net.layer[conv].name=y"});
  EXPECT_NE(
      both.find(
          "--set:1:5: error: unknown field 'nam' in net\n    1 | net.nam=x\n      |     ^\nhint: did you mean 'name'?"),
      std::string::npos)
      << both;
  EXPECT_NE(both.find("--set:2:11: error: no element of 'layer' is named 'conv'"), std::string::npos) << both;
  EXPECT_NE(mistake_of({"net.layer[data].top=x"}).find("layer[0] or layer[1]"), std::string::npos);
  EXPECT_NE(mistake_of({"net.layer[2].clip_param.min=1"}).find("--set:1:14: error: 'max' is missing here"),
            std::string::npos);
  EXPECT_EQ(mistake_of({"net.layer[2].clip_param.min=1", "net.layer[2].clip_param.max=2"}), "");
}

TEST(Override, InvalidPathsAndValuesAreErrors) {
  const char* texts[] = {"",
                         "=",
                         "net",
                         "net.",
                         "net.=",
                         "net.layer[",
                         "net.layer[]",
                         "net.layer[\"",
                         "net.layer[\"]=",
                         "net.layer[0]",
                         "net.layer[0]+=",
                         "net.layer={",
                         "net.layer=[",
                         "net.layer=}",
                         "net.name+",
                         "net.name='",
                         "net.layer[99999999999].top=1",
                         "net.layer[0].blobs+={ data: [1,2",
                         "net.layer+={ layer { } }",
                         "net.layer[0].layer[0]=1",
                         "net.state={ level: 1 } level: 2",
                         "net.state.level=1 2",
                         "net.layer[-1].name=x",
                         "net.layer=[{ name: 'a' }, 3]"};
  for (const char* text : texts) EXPECT_NE(mistake_of({text}), "") << text;
  std::string deep = "net.state={";
  for (int i = 0; i < 100000; ++i) deep += "{";
  EXPECT_NE(mistake_of({deep}), "");
}

}  // namespace cortado
