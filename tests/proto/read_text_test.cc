#include "proto/files/read_text.h"

#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>
#include <memory>

#include "core/files/file.h"
#include "tests/harness/errors.h"
#include "tests/harness/places.h"

namespace cortado {
namespace {

using google::protobuf::Message;
using google::protobuf::TextFormat;

class Quiet : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int, google::protobuf::io::ColumnNumber, const std::string&) override {}
};

/// The result of protobuf's parser; empty if it rejects the text.
template <typename T>
std::unique_ptr<T> by_protobuf(const std::string& text) {
  auto message = std::make_unique<T>();
  Quiet quiet;
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&quiet);
  return parser.ParseFromString(text, message.get()) ? std::move(message) : nullptr;
}

std::vector<Diagnostic> mistakes_in(const std::string& text) {
  try {
    read_net_from_text(text, "net.prototxt");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kNet);
    return error.mistakes();
  }
  return {};
}

Diagnostic only_mistake_in(const std::string& text) {
  const std::vector<Diagnostic> mistakes = mistakes_in(text);
  EXPECT_EQ(mistakes.size(), 1u) << (mistakes.empty() ? "" : render(mistakes.back()));
  return mistakes.empty() ? Diagnostic{} : mistakes.front();
}

template <typename T>
void expect_agreement(const std::string& text, const std::string& name) {
  const auto expected = by_protobuf<T>(text);
  ASSERT_NE(expected, nullptr) << name;
  T message;
  read_message_from_text(text, name, message);
  EXPECT_EQ(message.SerializeAsString(), expected->SerializeAsString()) << name;
}

TEST(ReadText, AgreesWithProtobufOnRealFiles) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(in_source("tests/proto/data"))) {
    const std::string path = entry.path();
    if (!path.ends_with(".prototxt")) continue;
    const bool solver = path.find("solver") != std::string::npos;
    solver ? expect_agreement<caffe::SolverParameter>(read_file(path), path)
           : expect_agreement<caffe::NetParameter>(read_file(path), path);
    ++files;
  }
  EXPECT_GE(files, 15);
}

TEST(ReadText, AcceptsEverySyntax) {
  const char* texts[] = {
      "",
      "# nothing",
      "name: 'a control byte \x01 in quotes' # and \x01 in a comment",
      "name: 'a' \"b\"\n 'c'",
      "name: \"\\n\\t\\\"\\'\\\\\\x41\\101\\u00e9\"",
      "layer { name: 'x' }; layer: { name: 'y' }, layer < name: 'z' > layer: <>",
      "layer [ { name: 'x' }, < name: 'y' > ] layer: [] layer []",
      "input_dim: [1, 2, 0x10, 010, -3] input_dim: []",
      "input_dim: - 5",
      "layer{name:'x'loss_weight:1 loss_weight:1. loss_weight:.5 loss_weight:1e-3 loss_weight:2f loss_weight:1.5F}",
      "layer { loss_weight: [inf, -inf, nan, Infinity, -NaN, 1e999, 1e-999, 123456789012345678901234567890] }",
      "force_backward: true debug_info: f",
      "force_backward: 1 debug_info: 0x0",
      "state { phase: TEST level: -2147483648 stage: 'a' stage: [ 'b', 'c' ] }",
      "layer { phase: 1 transform_param { crop_size: 4294967295 random_seed: -9223372036854775808 } }",
      "layer { clip_param { min: -1 max: 1 } }",
      "name:\t'tabs'\r\n\v\fforce_backward:\rfalse",
  };
  for (const char* text : texts) expect_agreement<caffe::NetParameter>(text, text);
}

TEST(ReadText, SkipsAByteOrderMark) { EXPECT_EQ(read_net_from_text("\xef\xbb\xbfname: 'n'", "n").net.name(), "n"); }

TEST(ReadText, RejectsWhatProtobufRejects) {
  const char* texts[] = {
      "name 'x'",
      "name: x",
      "name: 5",
      "name: ",
      "name: 'x' name: 'y'",
      "nam: 'x'",
      "name: 'x",
      "name: '\\q'",
      "input_dim: 1.0",
      "input_dim: '1'",
      "input_dim: 2147483648",
      "input_dim: 08",
      "input_dim: 0x",
      "input_dim: 1x",
      "input_dim: [1 2]",
      "input_dim: [1,]",
      "input_dim: [1",
      "input_dim: --1",
      "layer { ",
      "layer }",
      "layer { >",
      "layer: 5",
      "} name: 'x'",
      "layer { phase: TESTS }",
      "layer { phase: 7 }",
      "force_backward: 2",
      "force_backward: yes",
      "force_backward: -1",
      "name: 'x';;",
      "@",
      "name: 'a\nb'",
      "layer { loss_weight: 0x1 }",
      "layer { loss_weight: 01 }",
      "layer { loss_weight: big }",
      "layer { clip_param { min: 1 } }",
      "state [ { level: 1 } ]",
      "state: { } state: { }",
      "layer { transform_param { crop_size: -0 } }",
      "1: 2",
      "input_dim [1]",
      "name: {}",
  };
  for (const char* text : texts) {
    ASSERT_EQ(by_protobuf<caffe::NetParameter>(text), nullptr) << text;
    EXPECT_FALSE(mistakes_in(text).empty()) << text;
  }
}

TEST(Mistakes, AllAreFoundInOnePass) {
  const auto mistakes = mistakes_in(
      "layer {\n"
      "  name: 'conv1'\n"
      "  convolution_param {\n"
      "    kernal_size: 5\n"
      "    pad: -1\n"
      "    stride 2\n"
      "    engine: CUDN\n"
      "    group: 'two'\n"
      "    bias_term: yes\n"
      "  }\n"
      "  top: conv1\n"
      "}\n");
  ASSERT_EQ(mistakes.size(), 7u);
  const int lines[] = {4, 5, 6, 7, 8, 9, 11}, columns[] = {5, 10, 12, 13, 12, 16, 8};
  for (size_t i = 0; i < mistakes.size(); ++i) {
    EXPECT_EQ(mistakes[i].place.line, lines[i]) << mistakes[i].message;
    EXPECT_EQ(mistakes[i].place.column, columns[i]) << mistakes[i].message;
  }
  EXPECT_EQ(mistakes[0].hint, "did you mean 'kernel_size'?");
  EXPECT_EQ(mistakes[0].place.text, "    kernal_size: 5");
  EXPECT_NE(mistakes[3].message.find("DEFAULT, CAFFE, CUDNN"), std::string::npos) << mistakes[3].message;
  EXPECT_EQ(mistakes[6].hint, "write top: \"conv1\"");
}

TEST(Mistakes, AFieldInTheWrongMessageHasAHint) {
  EXPECT_EQ(only_mistake_in("layer { type: 'Convolution' num_output: 20 }").hint, "move it into convolution_param");
  EXPECT_EQ(only_mistake_in("layer { num_output: 20 type: 'InnerProduct' }").hint, "move it into inner_product_param");
  EXPECT_EQ(only_mistake_in("layer { convolution_param { lr_mult: 1 } }").hint, "move it into param");
  EXPECT_EQ(only_mistake_in("layer {\n convolution_param {\n  top: 'x' } }").hint, "move it out of this message");
  EXPECT_EQ(only_mistake_in("layer {\n layer { } }").hint, "close the 'layer' before it with }");
  EXPECT_NE(only_mistake_in("base_lr: 0.1").message.find("at the top of the file"), std::string::npos);
}

TEST(Mistakes, OptionsAreComparedWithoutParam) {
  EXPECT_EQ(only_mistake_in("layer { type: 'X' ln_param { } }").hint, "") << "lrn_param differs by one letter";
  EXPECT_EQ(only_mistake_in("layer { type: 'X' rpn_param { } }").hint, "");
  EXPECT_EQ(only_mistake_in("layer { type: 'X' polling_param { } }").hint, "did you mean 'pooling_param'?");
}

TEST(Mistakes, AMissingBraceIsOneError) {
  const Diagnostic mistake = only_mistake_in(
      "layer {\n  name: 'a'\n  convolution_param {\n    num_output: 1\n}\n"
      "layer {\n  name: 'b'\n}\nlayer {\n  name: 'c'\n}\n");
  EXPECT_EQ(mistake.message, "missing '}' before 'layer'");
  EXPECT_EQ(mistake.place.line, 6);
  ASSERT_EQ(mistake.notes.size(), 1u);
  EXPECT_EQ(mistake.notes[0].place.line, 1);
  const Diagnostic last = only_mistake_in("layer {\n  name: 'a'\n}\nlayer {\n  name: 'b'\n");
  EXPECT_EQ(last.message, "'layer' is not closed");
  EXPECT_EQ(last.place.line, 4);
}

TEST(Mistakes, ADuplicateShowsBothPlaces) {
  const Diagnostic mistake = only_mistake_in("layer {\n  type: 'ReLU'\n  type: 'TanH'\n}");
  EXPECT_EQ(mistake.place.line, 3);
  ASSERT_EQ(mistake.notes.size(), 1u);
  EXPECT_EQ(mistake.notes[0].place.line, 2);
}

TEST(Mistakes, AMissingRequiredFieldHasThePlaceOfItsMessage) {
  const Diagnostic mistake = only_mistake_in("layer {\n  clip_param { min: 1 }\n}");
  EXPECT_EQ(mistake.message, "'max' is missing here");
  EXPECT_EQ(mistake.place.line, 2);
}

TEST(Mistakes, AreLimitedInNumber) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "x: 1\n";
  const std::vector<Diagnostic> mistakes = mistakes_in(text);
  EXPECT_LE(mistakes.size(), 51u);
  EXPECT_EQ(mistakes.back().message, "and 950 more errors");
  EXPECT_EQ(mistakes_in(text + text + text + text + text + "}").back().message,
            "too many errors: only the first are listed");
}

/// An invalid token ends parsing if there are many errors already, and the name before it gets no error of its own.
TEST(Mistakes, AnInvalidTokenAfterAnUnknownNameIsTheLast) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "x: 1\n";
  EXPECT_EQ(mistakes_in(text + "y \"").back().message, "too many errors: only the first are listed");
}

TEST(Bounds, DeepNestingFailsFast) {
  std::string unknown, lists;
  for (int i = 0; i < 100'000; ++i) {
    unknown += "x { ";
    lists += "x: [ ";
  }
  for (const std::string& text : {unknown, lists}) {
    const std::clock_t start = std::clock();  // CPU time: other processes do not count
    EXPECT_FALSE(mistakes_in(text).empty());
    EXPECT_LT(double(std::clock() - start) / CLOCKS_PER_SEC, 0.1);
  }
}

// No message of the schema contains itself; protobuf's descriptor messages do.
TEST(Bounds, KnownFieldsNestToADepthOf64) {
  const auto nested = [](int depth) {
    std::string text;
    for (int i = 0; i < depth; ++i) text += "nested_type { ";
    return text + std::string(size_t(depth), '}');
  };
  google::protobuf::DescriptorProto message;
  EXPECT_NO_THROW(read_message_from_text(nested(64), "n", message));
  for (int depth : {65, 100'000}) EXPECT_THROW(read_message_from_text(nested(depth), "n", message), Error);
}

TEST(Bounds, ManyMessagesAreAnError) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += "layer{}";
  EXPECT_NE(only_mistake_in(text).message.find("more than 100000"), std::string::npos);
}

TEST(Bounds, LargeTextsAreErrors) {
  EXPECT_NE(only_mistake_in(std::string((16 << 20) + 1, ' ')).message.find("larger than 16 MiB"), std::string::npos);
}

TEST(Bounds, BinaryFilesAreRecognised) {
  caffe::NetParameter net;
  net.set_name("net");
  net.add_layer()->add_blobs()->add_data(1);
  const Diagnostic mistake = only_mistake_in(net.SerializeAsString());
  EXPECT_EQ(mistake.message, "a weights file, where a prototxt is expected");
  EXPECT_EQ(mistake.hint, "pass weights with --weights");
}

TEST(Positions, NamesAndValuesHavePlaces) {
  const NetFile file = read_net_from_text(
      "name: 'n'\n"
      "layer {\n"
      "  name: 'conv1'\n"
      "  loss_weight: [1,\n    2]\n"
      "  convolution_param { kernel_size: 3 kernel_size: 5 }\n"
      "}\n"
      "layer {\n\tname: 'x' }\n",
      "dir/net.prototxt");
  const auto at = [&](const char* path) { return file.positions.place(path).str(); };
  EXPECT_EQ(at("name"), "dir/net.prototxt:1:7");
  EXPECT_EQ(file.positions.name_place("name").str(), "dir/net.prototxt:1:1");
  EXPECT_EQ(at("layer[0]"), "dir/net.prototxt:2:1");
  EXPECT_EQ(at("layer[0].loss_weight[1]"), "dir/net.prototxt:5:5");
  EXPECT_EQ(at("layer[0].convolution_param.kernel_size[1]"), "dir/net.prototxt:6:51");
  EXPECT_EQ(at("layer[1].name"), "dir/net.prototxt:9:8");
  EXPECT_EQ(file.positions.place("layer[1].name").text, "\tname: 'x' }");
}

TEST(Positions, UnknownPathsFallBackToTheEnclosingMessage) {
  const NetFile file = read_net_from_text("layer {\n  convolution_param {\n    pad: 1 }\n}", "n");
  EXPECT_EQ(file.positions.place("layer[0].convolution_param.stride[0]").str(), "n:2:3");
  EXPECT_EQ(file.positions.place("layer[0].lrn_param.k").str(), "n:1:1");
  EXPECT_EQ(file.positions.place("layer[7].name").str(), "n");
  EXPECT_FALSE(file.positions.known("layer[7].name"));
  EXPECT_TRUE(file.positions.known("layer[0].convolution_param.pad[0]"));
  EXPECT_EQ(Positions("binary").place("layer[0]").str(), "binary");
}

TEST(Positions, OfANetInsideASolver) {
  const SolverFile file = read_solver_from_text("base_lr: 1\nnet_param {\n  layer { name: 'x' }\n}", "s.prototxt");
  const Positions net = file.positions.below("net_param");
  EXPECT_EQ(net.place("layer[0].name").str(), "s.prototxt:3:17");
}

TEST(ReadText, FilesAreRead) {
  const NetFile file = read_net(in_source("tests/proto/data/two_scales.prototxt"));
  EXPECT_EQ(file.net.name(), "two scales");
  EXPECT_GT(file.net.layer_size(), 8);
  expect_error([] { read_net("no/such/net.prototxt"); }, ExitCode::kIo, "no/such/net.prototxt");
}

TEST(Dialects, AreAllParsed) {
  const NetFile file = read_net_from_text(
      // NVIDIA
      "default_forward_type: FLOAT16 global_grad_scale: 128\n"
      "layer { forward_type: FLOAT16 backward_math: FLOAT data_param { threads: 4 cache: true shuffle: true }\n"
      "        transform_param { use_gpu_transform: true img_rand_resize_lower: 256 }\n"
      "        batch_norm_param { scale_bias: true scale_filler { value: 1 } } loss_param { label_smoothing: 0.1 } }\n"
      // Intel
      "engine: 'MKLDNN' layer { engine: 'CAFFE' pooling_param { avg_include_pad: false kernel_size_3d: 2 }\n"
      "        loss_param { normalization: PRE_FIXED pre_fixed_normalizer: 9 } convolution_param { relu: true engine: "
      "MKLDNN } }\n"
      // SSD
      "layer { prior_box_param { min_size: 30 aspect_ratio: [2, 3] } annotated_data_param { batch_sampler { "
      "max_trials: 50 } }\n"
      "        transform_param { emit_constraint { emit_type: CENTER } distort_param { hue_prob: 0.5 } } }\n",
      "n");
  EXPECT_EQ(file.net.layer_size(), 3);
  EXPECT_EQ(file.net.layer(1).loss_param().normalization(), caffe::LossParameter::PRE_FIXED);
  EXPECT_NE(caffe::LossParameter::PRE_FIXED, caffe::LossParameter::NONE);
}

/// OpenCL Caffe repeats options of a pooling, once for each axis.
TEST(Dialects, RepeatedOptionsOfPoolingsAreLists) {
  const NetFile file = read_net_from_text(
      "layer { pooling_param { kernel_size: 1\n  kernel_size: 2 stride: 1 stride: 2 pad: 0 kernel_size: 3 } }\n"
      "layer { pooling_param { kernel_size: [4, 5] } }\n",
      "n");
  const caffe::PoolingParameter &a = file.net.layer(0).pooling_param(), &b = file.net.layer(1).pooling_param();
  const auto list = [](const auto& values) { return std::vector<uint32_t>(values.begin(), values.end()); };
  EXPECT_EQ(list(a.kernel_size_3d()), (std::vector<uint32_t>{1, 2, 3}));
  EXPECT_EQ(list(a.stride_3d()), (std::vector<uint32_t>{1, 2}));
  EXPECT_TRUE(!a.has_kernel_size() && !a.has_stride() && a.has_pad() && a.pad_3d().empty());
  EXPECT_EQ(list(b.kernel_size_3d()), (std::vector<uint32_t>{4, 5}));
  EXPECT_EQ(file.positions.place("layer[0].pooling_param.kernel_size_3d[0]").column, 38);
  EXPECT_EQ(file.positions.place("layer[0].pooling_param.kernel_size_3d[1]").line, 2);
  EXPECT_EQ(only_mistake_in("layer { pooling_param { kernel_size_3d: 2 kernel_size: 2 kernel_size: 3 } }").message,
            "'kernel_size' is given twice");
  EXPECT_EQ(only_mistake_in("layer { pooling_param { kernel_h: 2 kernel_h: 3 } }").message,
            "'kernel_h' is given twice");
}

}  // namespace
}  // namespace cortado
