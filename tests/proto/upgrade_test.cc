#include "proto/upgrade/upgrade.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <sstream>

#include "proto/files/read_text.h"
#include "tests/harness/errors.h"

namespace cortado {
namespace {

/// Reads `old` and expects the same fields as in `today`.
NetFile expect_upgrade(const std::string& old, const std::string& today) {
  caffe::NetParameter expected;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(today, &expected));
  NetFile file = read_net_from_text(old, "old.prototxt");
  EXPECT_EQ(file.net.DebugString(), expected.DebugString());
  return file;
}

std::string error_of(const std::string& text) {
  return error_of([&] { read_net_from_text(text, "old.prototxt"); }, ExitCode::kNet);
}

TEST(Upgrade, CurrentNetsAreUnchanged) {
  const std::string text = "name: 'n' layer { name: 'a' type: 'ReLU' bottom: 'x' top: 'x' param { lr_mult: 1 } }";
  expect_upgrade(text, text);
}

TEST(Upgrade, LayersOf2014) {
  const NetFile file = expect_upgrade(
      "layers {\n"
      "  name: 'conv' type: CONVOLUTION bottom: 'data' top: 'conv'\n"
      "  param: 'w' param: 'b' blob_share_mode: STRICT blob_share_mode: PERMISSIVE\n"
      "  blobs_lr: 1 blobs_lr: 2\n"
      "  weight_decay: 1 weight_decay: 0\n"
      "  loss_weight: 3 include { phase: TRAIN }\n"
      "  convolution_param { num_output: 20 kernel_size: 5 }\n"
      "}\n"
      "layers { name: 'loss' type: SOFTMAX_LOSS bottom: 'conv' bottom: 'label' }\n"
      "layers { type: HDF5_OUTPUT hdf5_output_param { file_name: 'f' } }\n",
      "layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv'\n"
      "  param { name: 'w' share_mode: STRICT lr_mult: 1 decay_mult: 1 }\n"
      "  param { name: 'b' share_mode: PERMISSIVE lr_mult: 2 decay_mult: 0 }\n"
      "  loss_weight: 3 include { phase: TRAIN } convolution_param { num_output: 20 kernel_size: 5 } }\n"
      "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'conv' bottom: 'label' }\n"
      "layer { type: 'HDF5Output' hdf5_output_param { file_name: 'f' } }\n");
  EXPECT_EQ(file.positions.place("layer[0]").str(), "old.prototxt:1:1");
  EXPECT_EQ(file.positions.place("layer[0].type").str(), "old.prototxt:2:22");
  EXPECT_EQ(file.positions.place("layer[0].param[1].lr_mult").str(), "old.prototxt:4:25");
  EXPECT_EQ(file.positions.place("layer[0].convolution_param.kernel_size[0]").str(), "old.prototxt:7:51");
  EXPECT_FALSE(file.positions.known("layers[0]"));
}

TEST(Upgrade, EveryTypeOf2014HasItsName) {
  const auto* types = caffe::V1LayerParameter::LayerType_descriptor();
  EXPECT_EQ(types->value_count(), 67);
  for (int i = 0; i < types->value_count(); ++i) {
    const NetFile file = read_net_from_text("layers { type: " + types->value(i)->name() + " }", "n");
    std::string folded;  // EUCLIDEAN_LOSS and EuclideanLoss become equal
    for (char c : file.net.layer(0).type()) folded += char(std::toupper(c));
    std::string name = types->value(i)->name();
    std::erase(name, '_');
    if (name == "SOFTMAXLOSS") name = "SOFTMAXWITHLOSS";
    if (name == "NONE") name = "";
    EXPECT_EQ(folded, name);
  }
}

/// Sets a singular field to some value.
void set_something(google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field) {
  using Field = google::protobuf::FieldDescriptor;
  const auto& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case Field::CPPTYPE_MESSAGE: {
      google::protobuf::Message& inner = *reflection.MutableMessage(&message, &field);
      for (int i = 0; i < inner.GetDescriptor()->field_count(); ++i) {
        const Field& part = *inner.GetDescriptor()->field(i);
        if (!part.is_repeated() && part.cpp_type() != Field::CPPTYPE_MESSAGE) set_something(inner, part);
      }
      return;
    }
    case Field::CPPTYPE_STRING:
      return reflection.SetString(&message, &field, "s");
    case Field::CPPTYPE_BOOL:
      return reflection.SetBool(&message, &field, !field.default_value_bool());
    case Field::CPPTYPE_ENUM:
      return reflection.SetEnumValue(&message, &field, field.enum_type()->value(1)->number());
    case Field::CPPTYPE_FLOAT:
      return reflection.SetFloat(&message, &field, 0.625f);
    case Field::CPPTYPE_INT32:
      return reflection.SetInt32(&message, &field, 7);
    case Field::CPPTYPE_UINT32:
      return reflection.SetUInt32(&message, &field, 7);
    case Field::CPPTYPE_UINT64:
      return reflection.SetUInt64(&message, &field, 7);
    case Field::CPPTYPE_INT64:
      return reflection.SetInt64(&message, &field, 7);
    default:
      FAIL() << field.full_name();
  }
}

TEST(Upgrade, EveryOptionOf2014IsKept) {
  const auto* layers = caffe::V1LayerParameter::descriptor();
  int options = 0;
  for (int i = 0; i < layers->field_count(); ++i) {
    const auto& field = *layers->field(i);
    if (!field.name().ends_with("_param") || field.name() == "softmaxloss_param") continue;
    caffe::NetParameter net;
    caffe::V1LayerParameter& old = *net.add_layers();
    set_something(old, field);
    const auto& inner = old.GetReflection()->GetMessage(old, &field);
    // Another test covers the fields of data layers that became transform_param.
    for (const char* name : {"scale", "mean_file", "crop_size", "mirror"})
      if (const auto* moved = field.name().find("data_param") == std::string::npos
                                  ? nullptr
                                  : inner.GetDescriptor()->FindFieldByName(name))
        inner.GetReflection()->ClearField(old.GetReflection()->MutableMessage(&old, &field), moved);
    const std::string wanted = inner.DebugString();
    Positions positions("n");
    upgrade_net(net, positions);
    const auto* today = caffe::LayerParameter::descriptor()->FindFieldByName(field.name());
    ASSERT_NE(today, nullptr) << field.name();
    EXPECT_EQ(net.layer(0).GetReflection()->GetMessage(net.layer(0), today).DebugString(), wanted) << field.name();
    ++options;
  }
  EXPECT_EQ(options, 39);
}

TEST(Upgrade, DeepLabsNamesOfLosses) {
  const NetFile file = expect_upgrade(
      "layers { name: 'l' type: SOFTMAX_LOSS strict_dim: false\n softmaxloss_param { ignore_label: 255 } }",
      "layer { name: 'l' type: 'SoftmaxWithLoss' loss_param { ignore_label: 255 } }");
  EXPECT_EQ(file.positions.place("layer[0].loss_param.ignore_label").str(), "old.prototxt:2:36");
  EXPECT_NE(error_of("layers { type: SOFTMAX_LOSS softmaxloss_param { } loss_param { } }")
                .find("'softmaxloss_param' and 'loss_param' in one layer"),
            std::string::npos);
}

TEST(Upgrade, ClipsOfC3D) {
  const NetFile file = expect_upgrade(
      "layers { name: 'd' type: VIDEO_DATA image_data_param { source: 's' mean_file: 'm' batch_size: 30\n"
      "  crop_size: 112 mirror: true new_height: 128 new_width: 171 shuffle: true } }",
      "layer { name: 'd' type: 'VideoData' transform_param { mean_file: 'm' crop_size: 112 mirror: true }\n"
      "  video_data_param { source: 's' batch_size: 30 new_height: 128 new_width: 171 shuffle: true } }");
  EXPECT_EQ(file.positions.place("layer[0].video_data_param.new_height").str(), "old.prototxt:2:43");
  expect_upgrade("layer { type: 'VideoData' image_data_param { source: 's' rand_skip: 3 } }",
                 "layer { type: 'VideoData' image_data_param { rand_skip: 3 } video_data_param { source: 's' } }");
}

TEST(Upgrade, TransformationsOfImagesWithLabels) {
  expect_upgrade("layer { type: 'DenseImageData' dense_image_data_param { source: 's' mirror: true crop_size: 9 } }",
                 "layer { type: 'DenseImageData' dense_image_data_param { source: 's' }\n"
                 "  transform_param { crop_size: 9 mirror: true } }");
}

/// Every option of 2013 for each type that has it, and its current place according to Caffe's history.
TEST(Upgrade, EveryOptionOf2013IsMoved) {
  const struct {
    const char *types, *field, *value, *today;
  } moves[] = {
      {"conv innerproduct", "num_output", "3", "num_output: 3"},
      {"conv innerproduct", "biasterm", "false", "bias_term: false"},
      {"conv innerproduct", "weight_filler", "{ type: 'xavier' }", "weight_filler { type: 'xavier' }"},
      {"conv innerproduct", "bias_filler", "{ value: 2 }", "bias_filler { value: 2 }"},
      {"conv pool", "pad", "1", "pad: 1"},
      {"conv pool", "kernelsize", "5", "kernel_size: 5"},
      {"conv pool", "stride", "2", "stride: 2"},
      {"conv", "group", "2", "group: 2"},
      {"pool", "pool", "STOCHASTIC", "pool: STOCHASTIC"},
      {"dropout", "dropout_ratio", "0.3", "dropout_ratio: 0.3"},
      {"lrn", "local_size", "3", "local_size: 3"},
      {"lrn", "alpha", "2", "alpha: 2"},
      {"lrn", "beta", "0.5", "beta: 0.5"},
      {"lrn", "k", "2", "k: 2"},
      {"data hdf5_data images window_data infogain_loss", "source", "'s'", "source: 's'"},
      {"data hdf5_data images window_data", "batchsize", "8", "batch_size: 8"},
      {"data images", "rand_skip", "4", "rand_skip: 4"},
      {"images", "shuffle_images", "true", "shuffle: true"},
      {"images", "new_height", "9", "new_height: 9"},
      {"images", "new_width", "9", "new_width: 9"},
      {"concat", "concat_dim", "0", "concat_dim: 0"},
      {"window_data", "det_fg_threshold", "0.7", "fg_threshold: 0.7"},
      {"window_data", "det_bg_threshold", "0.3", "bg_threshold: 0.3"},
      {"window_data", "det_fg_fraction", "0.1", "fg_fraction: 0.1"},
      {"window_data", "det_context_pad", "16", "context_pad: 16"},
      {"window_data", "det_crop_mode", "'square'", "crop_mode: 'square'"},
      {"hdf5_output", "hdf5_output_param", "{ file_name: 'f' }", "file_name: 'f'"},
  };
  const std::map<std::string, std::pair<std::string, std::string>> today = {
      {"conv", {"Convolution", "convolution_param"}},
      {"innerproduct", {"InnerProduct", "inner_product_param"}},
      {"pool", {"Pooling", "pooling_param"}},
      {"dropout", {"Dropout", "dropout_param"}},
      {"lrn", {"LRN", "lrn_param"}},
      {"data", {"Data", "data_param"}},
      {"hdf5_data", {"HDF5Data", "hdf5_data_param"}},
      {"images", {"ImageData", "image_data_param"}},
      {"window_data", {"WindowData", "window_data_param"}},
      {"infogain_loss", {"InfogainLoss", "infogain_loss_param"}},
      {"concat", {"Concat", "concat_param"}},
      {"hdf5_output", {"HDF5Output", "hdf5_output_param"}},
  };
  for (const auto& move : moves) {
    std::istringstream types(move.types);
    for (std::string type; types >> type;)
      expect_upgrade(
          "layers { layer { type: '" + type + "' " + move.field + (*move.value == '{' ? " " : ": ") + move.value +
              " } }",
          "layer { type: '" + today.at(type).first + "' " + today.at(type).second + " { " + move.today + " } }");
  }
  for (const char* type : {"data", "images", "window_data"})
    expect_upgrade(
        "layers { layer { type: '" + std::string(type) + "' scale: 2 meanfile: 'm' cropsize: 3 mirror: true } }",
        "layer { type: '" + today.at(type).first +
            "' transform_param { scale: 2 mean_file: 'm' crop_size: 3 mirror: true } }");
}

TEST(Upgrade, EveryTypeOf2013HasItsName) {
  const std::map<std::string, std::string> names = {{"accuracy", "Accuracy"},
                                                    {"bnll", "BNLL"},
                                                    {"euclidean_loss", "EuclideanLoss"},
                                                    {"flatten", "Flatten"},
                                                    {"im2col", "Im2col"},
                                                    {"multinomial_logistic_loss", "MultinomialLogisticLoss"},
                                                    {"relu", "ReLU"},
                                                    {"sigmoid", "Sigmoid"},
                                                    {"softmax", "Softmax"},
                                                    {"softmax_loss", "SoftmaxWithLoss"},
                                                    {"split", "Split"},
                                                    {"tanh", "TanH"}};
  for (const auto& [old, name] : names)
    expect_upgrade("layers { layer { type: '" + old + "' name: 'n' } }", "layer { type: '" + name + "' name: 'n' }");
}

TEST(Upgrade, LayersOf2013) {
  const NetFile file = expect_upgrade(
      "layers { layer { name: 'data' type: 'data' source: 'db' meanfile: 'm' batchsize: 256 cropsize: 227 mirror: "
      "true\n"
      "    scale: 0.5 rand_skip: 3 } top: 'data' top: 'label' }\n"
      "layers { layer { name: 'pad1' type: 'padding' pad: 2 } bottom: 'data' top: 'padded' }\n"
      "layers { layer { name: 'conv1' type: 'conv' num_output: 96 kernelsize: 11 stride: 4 group: 2 biasterm: false\n"
      "    weight_filler { type: 'gaussian' std: 0.01 } blobs_lr: 1. blobs_lr: 2. weight_decay: 1. weight_decay: 0. }\n"
      "  bottom: 'padded' top: 'conv1' }\n"
      "layers { layer { name: 'pool1' type: 'pool' pool: AVE kernelsize: 3 stride: 2 } bottom: 'conv1' top: 'pool1' }\n"
      "layers { layer { name: 'norm1' type: 'lrn' local_size: 5 alpha: 0.0001 beta: 0.75 k: 2 } bottom: 'pool1' top: "
      "'norm1' }\n"
      "layers { layer { name: 'fc' type: 'innerproduct' num_output: 10 bias_filler { value: 1 } } bottom: 'norm1' top: "
      "'fc' }\n"
      "layers { layer { name: 'drop' type: 'dropout' dropout_ratio: 0.7 } bottom: 'fc' top: 'fc' }\n"
      "layers { layer { name: 'images' type: 'images' source: 'l' new_height: 5 new_width: 6 shuffle_images: true } "
      "top: 'i' }\n"
      "layers { layer { name: 'loss' type: 'softmax_loss' } bottom: 'fc' bottom: 'label' }\n",
      "layer { name: 'data' type: 'Data' top: 'data' top: 'label' data_param { source: 'db' batch_size: 256 rand_skip: "
      "3 }\n"
      "  transform_param { mean_file: 'm' crop_size: 227 mirror: true scale: 0.5 } }\n"
      "layer { name: 'conv1' type: 'Convolution' bottom: 'data' top: 'conv1' param { lr_mult: 1 decay_mult: 1 }\n"
      "  param { lr_mult: 2 decay_mult: 0 } convolution_param { num_output: 96 kernel_size: 11 stride: 4 group: 2 pad: "
      "2\n"
      "    bias_term: false weight_filler { type: 'gaussian' std: 0.01 } } }\n"
      "layer { name: 'pool1' type: 'Pooling' bottom: 'conv1' top: 'pool1' pooling_param { pool: AVE kernel_size: 3 "
      "stride: 2 } }\n"
      "layer { name: 'norm1' type: 'LRN' bottom: 'pool1' top: 'norm1' lrn_param { local_size: 5 alpha: 0.0001 beta: "
      "0.75 k: 2 } }\n"
      "layer { name: 'fc' type: 'InnerProduct' bottom: 'norm1' top: 'fc' inner_product_param { num_output: 10\n"
      "    bias_filler { value: 1 } } }\n"
      "layer { name: 'drop' type: 'Dropout' bottom: 'fc' top: 'fc' dropout_param { dropout_ratio: 0.7 } }\n"
      "layer { name: 'images' type: 'ImageData' top: 'i' image_data_param { source: 'l' new_height: 5 new_width: 6 "
      "shuffle: true } }\n"
      "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'fc' bottom: 'label' }\n");
  EXPECT_EQ(file.positions.place("layer[0].transform_param.crop_size").str(), "old.prototxt:1:96");
  EXPECT_EQ(file.positions.place("layer[1].convolution_param.pad[0]").line, 3) << "position of the padding";
  EXPECT_EQ(file.positions.place("layer[1].convolution_param.num_output").line, 4);
  EXPECT_EQ(file.positions.place("layer[1].param[1].lr_mult").line, 5);
  EXPECT_EQ(file.positions.place("layer[2].pooling_param.pool").line, 7);
}

TEST(Upgrade, ErrorsHavePlaces) {
  EXPECT_EQ(
      error_of("layers { layer { type: 'convolution' } }").find("old.prototxt:1:24: error: unknown type 'convolution'"),
      0u);
  EXPECT_NE(error_of("layers { type: RELU }\nlayer { type: 'ReLU' }").find("'layers' and 'layer' in one net"),
            std::string::npos);
  EXPECT_NE(error_of("layers { layer { type: 'padding' pad: 1 } bottom: 'a' top: 'b' } layers { layer { type: 'relu' } "
                     "bottom: 'b' }")
                .find("cannot read a padding layer"),
            std::string::npos);
}

TEST(Upgrade, TransformationsAreMovedFromDataOptions) {
  for (const char* options : {"data_param", "image_data_param", "window_data_param"}) {
    const std::string name = options;
    const NetFile file = expect_upgrade(
        "layer {\n  " + name + " { source: 's'\n    scale: 0.1 mean_file: 'm' crop_size: 7 mirror: true } }",
        "layer { " + name +
            " { source: 's' } transform_param { scale: 0.1 mean_file: 'm' crop_size: 7 mirror: true } }");
    EXPECT_EQ(file.positions.place("layer[0].transform_param.scale").str(), "old.prototxt:3:12");
  }
  EXPECT_NE(error_of("layer { data_param { scale: 1 } transform_param { scale: 2 } }").find("given twice"),
            std::string::npos);
}

TEST(Upgrade, InputsBecomeALayer) {
  const NetFile file = expect_upgrade(
      "name: 'n'\ninput: 'data'\ninput_dim: 1 input_dim: 3\ninput_dim: 227 input_dim: 228\nlayer { name: 'a' bottom: "
      "'data' }",
      "name: 'n' layer { name: 'input' type: 'Input' top: 'data' input_param { shape { dim: 1 dim: 3 dim: 227 dim: 228 "
      "} } }\n"
      "layer { name: 'a' bottom: 'data' }");
  EXPECT_EQ(file.positions.place("layer[0]").line, 2);
  EXPECT_EQ(file.positions.place("layer[0].input_param.shape[0].dim[2]").str(), "old.prototxt:4:12");
  EXPECT_EQ(file.positions.place("layer[1].name").str(), "old.prototxt:5:15");
  expect_upgrade(
      "input: 'a' input_shape { dim: 2 } input: 'b' input_shape { dim: 3 dim: 4 } layers { type: RELU bottom: 'a' }",
      "layer { name: 'input' type: 'Input' top: 'a' top: 'b' input_param { shape { dim: 2 } shape { dim: 3 dim: 4 } } "
      "}\n"
      "layer { type: 'ReLU' bottom: 'a' }");
  EXPECT_NE(
      error_of("input: 'a' input: 'b' input_dim: 1 input_dim: 2 input_dim: 3 input_dim: 4").find("do not go together"),
      std::string::npos);
  EXPECT_NE(error_of("input: 'a'").find("do not go together"), std::string::npos);
}

TEST(Upgrade, AnInputThatALayerMakesNeedsNoShape) {
  const std::string layer = "layer { name: 'd' type: 'Input' top: 'data' input_param { shape { dim: 1 } } }";
  expect_upgrade("input: 'data' " + layer, layer);
  EXPECT_NE(error_of("input: 'date' " + layer).find("do not go together"), std::string::npos);
}

TEST(Upgrade, RatesOfStatisticsAreDropped) {
  expect_upgrade("layer { type: 'BatchNorm' param { lr_mult: 0 } param { lr_mult: 0 } param { lr_mult: 0 } }",
                 "layer { type: 'BatchNorm' }");
  expect_upgrade("layer { type: 'BatchNorm' param { name: 'm' } param { name: 'v' lr_mult: 1 } param { name: 'f' } }",
                 "layer { type: 'BatchNorm' param { name: 'm' lr_mult: 0 decay_mult: 0 }"
                 " param { name: 'v' lr_mult: 0 decay_mult: 0 } param { name: 'f' lr_mult: 0 decay_mult: 0 } }");
  const std::string two = "layer { type: 'Scale' param { lr_mult: 0 } param { lr_mult: 1 } param { lr_mult: 2 } }";
  expect_upgrade(two, two);
}

TEST(Upgrade, FaceBoxesAreDense) {
  const std::string convolution = "layer { type: 'Convolution' bottom: 'a' convolution_param { num_output: 84 } } ";
  const std::string first = "layer { type: 'PriorBox' bottom: 'a' prior_box_param { min_size: [32, 64, 128]",
                    second = " } } layer { type: 'PriorBox' bottom: 'b' prior_box_param { min_size: 256", end = " } }";
  expect_upgrade(convolution + first + second + end,
                 convolution + first + " densify: true" + second + " densify: true" + end);
  const auto is_unchanged = [](const std::string& net) { expect_upgrade(net, net); };
  is_unchanged("layer { type: 'Convolution' bottom: 'a' convolution_param { num_output: 12 } } " + first + end);
  is_unchanged("layer { type: 'Convolution' bottom: 'b' convolution_param { num_output: 84 } } " + first + end);
  is_unchanged(convolution + first + " aspect_ratio: 2" + end);
  is_unchanged(convolution + first + " densify: false" + second + " densify: false" + end);
}

TEST(Upgrade, ABinaryNetIsUpgradedToo) {
  caffe::NetParameter net;
  net.add_layers()->set_type(caffe::V1LayerParameter::TANH);
  Positions positions("net.caffemodel");
  upgrade_net(net, positions);
  EXPECT_EQ(net.layer(0).type(), "TanH");
}

TEST(UpgradeSolver, SolverTypeBecomesType) {
  const char* types[][2] = {{"SGD", "SGD"},         {"NESTEROV", "Nesterov"}, {"ADAGRAD", "AdaGrad"},
                            {"RMSPROP", "RMSProp"}, {"ADADELTA", "AdaDelta"}, {"ADAM", "Adam"},
                            {"2", "AdaGrad"}};
  for (const auto& [old, today] : types) {
    const SolverFile file = read_solver_from_text("base_lr: 1\nsolver_type: " + std::string(old), "s");
    EXPECT_EQ(file.solver.type(), today);
    EXPECT_FALSE(file.solver.has_solver_type());
    EXPECT_EQ(file.positions.place("type").str(), "s:2:14");
  }
  EXPECT_THROW(read_solver_from_text("type: 'SGD' solver_type: SGD", "s"), Error);
}

TEST(UpgradeSolver, SnapshotPrefixHasADefault) {
  const auto prefix = [](const std::string& text, const std::string& path) {
    return read_solver_from_text(text, path).solver.snapshot_prefix();
  };
  EXPECT_EQ(prefix("", "models/lenet/solver.prototxt"), "models/lenet/solver");
  EXPECT_EQ(prefix("snapshot_prefix: 'out/lenet'", "models/lenet/solver.prototxt"), "out/lenet");
  const std::string folder = std::filesystem::temp_directory_path();
  EXPECT_EQ(prefix("snapshot_prefix: '" + folder + "'", "models/lenet/solver.prototxt"), folder + "/solver");
}

TEST(UpgradeSolver, NetsInsideAreUpgraded) {
  const SolverFile file = read_solver_from_text(
      "train_net_param { layers { type: RELU name: 'a' } }\ntest_net_param { layer { name: 'b' } }\n"
      "test_net_param { input: 'x' input_shape { dim: 1 } }",
      "s");
  EXPECT_EQ(file.solver.train_net_param().layer(0).type(), "ReLU");
  EXPECT_EQ(file.solver.test_net_param(1).layer(0).type(), "Input");
  EXPECT_EQ(file.positions.below("train_net_param").place("layer[0].name").str(), "s:1:45");
  EXPECT_EQ(file.positions.place("test_net_param[1].layer[0].top[0]").line, 3);
}

}  // namespace
}  // namespace cortado
