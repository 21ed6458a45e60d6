// Weights are copied between nets, and from files to nets, by layer name.

#include <gtest/gtest.h>

#include "net/net.h"
#include "tests/harness/errors.h"

namespace cortado {
namespace {

std::unique_ptr<Net> net_of(const std::string& text, caffe::Phase phase, Context& context, Net* weights_of = nullptr) {
  graph::BuildOptions options;
  options.state.set_phase(phase);
  options.backward = phase == caffe::TRAIN;
  return make_net(std::make_shared<NetFile>(read_net_from_text(text, "net.prototxt")), options, context, weights_of);
}

std::string error_of(const std::string& text) {
  Context context(1);
  return error_of([&] { net_of(text, caffe::TRAIN, context); }, ExitCode::kNet);
}

const std::string kInput = R"(layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 2 dim: 3 } } } )";

std::string product(const std::string& name, const std::string& bottom, const std::string& more = "") {
  return "layer { " + (name.empty() ? "" : "name: '" + name + "'") + " type: 'InnerProduct' bottom: '" + bottom +
         "' top: 'y_" + name + "' inner_product_param { num_output: 3 } " + more + " } ";
}

TEST(WeightsByName, StatisticsOfOneNameAreShared) {
  Context context(1);
  const std::string names = "param { name: 'm' } param { name: 'v' } param { name: 'f' } ",
                    half = "batch_norm_param { moving_average_fraction: 0.5 } ";
  const auto net = net_of(
      "layer { name: 'in' type: 'Input' top: 'a' top: 'b' input_param { shape { dim: 8 dim: 3 } } } "
      "layer { name: 'bn_a' type: 'BatchNorm' bottom: 'a' top: 'na' " +
          names + half +
          "} "
          "layer { name: 'bn_b' type: 'BatchNorm' bottom: 'b' top: 'nb' " +
          names + half +
          "} "
          "layer { name: 'l' type: 'EuclideanLoss' bottom: 'na' bottom: 'nb' top: 'l' }",
      caffe::TRAIN, context);
  ASSERT_EQ(net->plan().graph.weights.size(), 3u);
  const std::vector<float> ones(24, 1), fives(24, 5);
  net->write_blob("a", ones.data());
  net->write_blob("b", fives.data());
  net->forward();
  std::vector<float> mean(3);
  net->read_weight(0, mean.data());
  for (const float value : mean) EXPECT_FLOAT_EQ(value, 0.5f * 1 + 5);
}

/// The owner of a shared weight is the first layer that uses it, which may exist in only one of the nets.
TEST(WeightsByName, AreIndependentOfTheOwner) {
  const std::string shared = "param { name: 'w' } param { name: 'b' } ";
  for (const std::string owner_phase : {"TEST", "TRAIN"}) {
    const std::string text = kInput + product("first", "x", shared + "include { phase: " + owner_phase + " }") +
                             product("second", "x", shared);
    Context context(1);
    const auto train = net_of(text, caffe::TRAIN, context), test = net_of(text, caffe::TEST, context, train.get());
    EXPECT_TRUE(test->layers_without_weights().empty()) << owner_phase;
    const std::vector<float> given(9, 0.25f);
    train->write_weight(0, given.data());
    std::vector<float> seen(9);
    test->read_weight(0, seen.data());
    EXPECT_EQ(seen, given) << owner_phase;
  }
}

TEST(WeightsByName, NeedUniqueLayerNames) {
  EXPECT_NE(error_of(kInput + product("", "x")).find("InnerProduct has weights but no name"), std::string::npos);
  const std::string twice = kInput + product("a", "x") +
                            "layer { name: 'a' type: 'InnerProduct' bottom: 'x' top: 'z' inner_product_param { "
                            "num_output: 3 } }";
  EXPECT_NE(error_of(twice).find("two layers have the name 'a'"), std::string::npos);
  EXPECT_NE(error_of(kInput + product("in", "x")).find("two layers have the name 'in'"), std::string::npos);
  const std::string relus = "layer { name: 'r' type: 'ReLU' bottom: 'x' top: 'x' } ";
  EXPECT_EQ(error_of(kInput + relus + relus), "");  // layers without weights need no unique names
}

TEST(WeightsByName, MissingOnesAreNamed) {
  Context context(1);
  const auto net = net_of(kInput + product("a", "x") + product("b", "x") + product("c", "x"), caffe::TEST, context);
  const auto layer = [](const std::string& name) {
    return LayerWeights{name, "InnerProduct", {{{3, 3}, std::vector<float>(9, 1)}, {{3}, std::vector<float>(3)}}};
  };
  net->load_weights({layer("a")}, "one.caffemodel");
  EXPECT_EQ(net->layers_without_weights(), (std::vector<std::string>{"b", "c"}));
  try {
    net->require_weights();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kSnapshot);
    EXPECT_NE(std::string(error.what()).find("no weights file has layers 'b' and 'c'"), std::string::npos)
        << error.what();
  }
  net->load_weights({layer("b"), layer("c")}, "two.caffemodel");
  net->require_weights();
}

}  // namespace
}  // namespace cortado
