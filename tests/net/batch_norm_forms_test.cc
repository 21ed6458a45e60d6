// A file's BatchNorm and a net's in every combination of forms: the net computes the same as the file's net, by an
// independent formula.
#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "net/net.h"

namespace cortado {
namespace {

const std::vector<float> kMean = {1, -2}, kVariance = {4, 0.25f}, kGamma = {3, 0.5f}, kBeta = {-1, 7};
const std::vector<float> kX = {5, -3};
constexpr float kFactor = 8;

BlobFile two(std::vector<float> values, float times = 1) {
  for (float& value : values) value *= times;
  return {Shape{2}, std::move(values)};
}

/// A BatchNorm with sums, and its effect on kX.
LayerWeights norm(size_t blobs) {
  LayerWeights layer{"bn", "BatchNorm", {two(kMean, kFactor), two(kVariance, kFactor), {Shape{1}, {kFactor}}}};
  if (blobs > 3) layer.blobs.push_back(two(kGamma));
  if (blobs > 4) layer.blobs.push_back(two(kBeta));
  return layer;
}

std::vector<float> expected(const std::vector<float>& gamma, const std::vector<float>& beta) {
  std::vector<float> y;
  for (size_t c = 0; c < 2; ++c) y.push_back((kX[c] - kMean[c]) / std::sqrt(kVariance[c] + 1e-5f) * gamma[c] + beta[c]);
  return y;
}

/// y of the net, whose BatchNorm has `options` and is followed by `more`, with the weights of `file`.
std::vector<float> run(const std::string& options, const std::string& more, const std::vector<LayerWeights>& file) {
  const std::string text =
      "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 2 } } }\n"
      "layer { name: 'bn' type: 'BatchNorm' bottom: 'x' top: 'n' batch_norm_param { " +
      options + " } }\n" + more;
  Context context(1);
  graph::BuildOptions build;
  build.backward = false;
  build.state.set_phase(caffe::TEST);
  const auto net = make_net(std::make_shared<const NetFile>(read_net_from_text(text, "net.prototxt")), build, context);
  net->load_weights(file, "w.caffemodel");
  net->write_blob("x", kX.data());
  net->forward();
  return net->read_blob(net->outputs()[0].name);
}

void expect_same(const std::vector<float>& got, const std::vector<float>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-5);
}

const std::string kScale = "layer { name: 's' type: 'Scale' bottom: 'n' top: 'y' scale_param { bias_term: true } }";
const std::string kInPlace =
    "layer { name: 's' type: 'Scale' bottom: 'n' top: 'n' scale_param { bias_term: true } }\n"
    "layer { name: 'r' type: 'Power' bottom: 'n' top: 'y' }";

TEST(BatchNormForms, FiveBlobsAreSplit) {
  expect_same(run("", kScale, {norm(5)}), expected(kGamma, kBeta));
  expect_same(run("", kInPlace, {norm(5)}), expected(kGamma, kBeta));
  expect_same(run("", kScale, {norm(4)}), expected(kGamma, {0, 0}));
}

TEST(BatchNormForms, FiveBlobsAndAScaleAreMerged) {
  expect_same(run("", kScale, {norm(5), {"s", "Scale", {two({2, 4}), two({1, 1})}}}),
              expected({2 * 3, 4 * 0.5f}, {2 * -1 + 1, 4 * 7 + 1}));
}

TEST(BatchNormForms, BatchNormAndScaleAreMerged) {
  const LayerWeights scale{"scale_bn", "Scale", {two(kGamma), two(kBeta)}}, factors{"scale_bn", "Scale", {two(kGamma)}};
  for (const char* options : {"scale_bias: true", "use_weight_bias: true"})
    expect_same(run(options, "", {norm(3), scale}), expected(kGamma, kBeta));
  expect_same(run("scale_bias: true", "", {norm(3), factors}), expected(kGamma, {0, 0}));
  expect_same(run("use_weight_bias: true bias_term: false", "", {norm(3), factors}), expected(kGamma, {0, 0}));
  expect_same(run("scale_bias: true", "", {norm(3)}), expected({1, 1}, {0, 0}));
}

TEST(BatchNormForms, InFilesWithoutTypesTheScaleIsFoundByShape) {
  const LayerWeights scale{"scale_bn", "", {two(kGamma), two(kBeta)}},
      other{"fc", "", {{Shape{1, 2}, {1, 2}}, two({1, 2}), two({3, 4})}};
  LayerWeights untyped = norm(3);
  untyped.type.clear();
  expect_same(run("scale_bias: true", "", {untyped, scale}), expected(kGamma, kBeta));
  expect_same(run("scale_bias: true", "", {untyped, other}), expected({1, 1}, {0, 0}));
  LayerWeights five = norm(5);
  five.type.clear();
  expect_same(run("", kScale, {five}), expected(kGamma, kBeta));
  // In the order of DIGITS, with four extents.
  const Shape four{1, 2, 1, 1};
  const LayerWeights digits{
      "bn", "", {{four, kGamma}, {four, kBeta}, {four, kMean}, {four, kVariance}, {Shape{1, 1, 1, 1}, {1}}}};
  expect_same(run("scale_bias: true", "", {digits}), expected(kGamma, kBeta));
}

TEST(BatchNormForms, EqualFormsAreUnchanged) {
  expect_same(run("scale_bias: true", "", {norm(5)}), expected(kGamma, kBeta));
  expect_same(run("use_weight_bias: true bias_term: false", "", {norm(4)}), expected(kGamma, {0, 0}));
  expect_same(run("", kScale, {norm(3), {"s", "Scale", {two(kGamma), two(kBeta)}}}), expected(kGamma, kBeta));
  // The file's BatchNorm is not merged with the net's Scale layer.
  expect_same(run("scale_bias: true", kScale, {norm(3), {"s", "Scale", {two(kGamma), two(kBeta)}}}),
              expected(kGamma, kBeta));
  expect_same(run("scale_bias: true", kScale, {norm(4), {"s", "Scale", {two({1, 1}), two({0, 0})}}}),
              expected(kGamma, {0, 0}));
}

TEST(BatchNormForms, AScaleOfOneIsDropped) {
  LayerWeights plain = norm(5);
  plain.blobs[3].data = {1, 1}, plain.blobs[4].data = {0, 0};
  expect_same(run("", "", {plain}), expected({1, 1}, {0, 0}));
}

TEST(BatchNormForms, AScaleThatCannotMoveIsAnError) {
  const auto refused = [](const std::string& options, const std::string& more, const std::vector<LayerWeights>& file) {
    try {
      run(options, more, file);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kSnapshot);
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(refused("", "", {norm(5)}).find("scale_bias: true"), std::string::npos);
  EXPECT_NE(
      refused("", "layer { name: 's' type: 'Scale' bottom: 'n' top: 'y' }", {norm(5)}).find("5 blobs in the file"),
      std::string::npos);
  EXPECT_NE(refused("", kScale + " layer { name: 't' type: 'TanH' bottom: 'n' top: 'z' }", {norm(5)}), "")
      << "another layer reads the unscaled blob";
  EXPECT_NE(refused("use_weight_bias: true bias_term: false", "",
                    {norm(3), {"scale_bn", "Scale", {two(kGamma), two(kBeta)}}}),
            "");
  LayerWeights wrong = norm(5);
  wrong.blobs[3] = {Shape{3}, {1, 2, 3}};
  EXPECT_NE(refused("", kScale, {wrong}), "");
}

}  // namespace
}  // namespace cortado
