// A net's BN and blobs from files, which forks store with one axis, two or four; and folding of BNs that only scale and
// shift.
#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "net/net.h"

namespace cortado {
namespace {

const std::vector<float> kSlope = {3, 0.5f}, kBias = {-1, 7}, kMean = {1, -2}, kVariance = {4, 0.25f}, kX = {5, -3};

std::unique_ptr<Net> net_of(const std::string& text, Context& context, bool frozen) {
  graph::BuildOptions build;
  build.backward = false;
  build.frozen = frozen;
  build.state.set_phase(caffe::TEST);
  return make_net(std::make_shared<const NetFile>(read_net_from_text(text, "net.prototxt")), build, context);
}

std::string bn(const std::string& options) {
  return "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 2 } } }\n"
         "layer { name: 'bn' type: 'BN' bottom: 'x' top: 'y' bn_param { " +
         options + " } }\n";
}

TEST(Bn, AcceptsBlobsOfAnyNumberOfAxes) {
  for (const Shape& shape : {Shape{2}, Shape{1, 2}, Shape{1, 2, 1, 1}}) {
    Context context(1);
    const auto net = net_of(bn("momentum: 0.95"), context, false);
    net->load_weights({{"bn", "BN", {{shape, kSlope}, {shape, kBias}, {shape, kMean}, {shape, kVariance}}}}, "w");
    net->write_blob("x", kX.data());
    net->forward();
    const std::vector<float> y = net->read_blob("y");
    for (size_t c = 0; c < 2; ++c)
      EXPECT_NEAR(y[c], (kX[c] - kMean[c]) / std::sqrt(kVariance[c] + 1e-5f) * kSlope[c] + kBias[c], 1e-5);
  }
}

std::string message(const std::string& options, const std::vector<BlobFile>& blobs) {
  Context context(1);
  try {
    net_of(bn(options), context, false)->load_weights({{"bn", "BN", blobs}}, "w");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Bn, ErrorsNameTheFormOfTheFile) {
  const BlobFile two{Shape{2}, kSlope}, three{Shape{3}, {1, 2, 3}};
  EXPECT_NE(message("", {two, two}).find("set bn_param { bn_mode: LEARN }"), std::string::npos);
  EXPECT_NE(message("bn_mode: LEARN", {two, two, two, two}).find("remove bn_mode"), std::string::npos);
  EXPECT_NE(message("bn_mode: LEARN", {three, two}).find("blob 0: 3 in the file, 1x2x1x1"), std::string::npos);
}

/// y of a convolution followed by a BN, whose blobs are `blobs`.
std::vector<float> behind_convolution(const std::string& options, const std::vector<std::vector<float>>& blobs,
                                      bool frozen) {
  const std::string text =
      "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 3 dim: 6 dim: 5 } } }\n"
      "layer { name: 'conv' type: 'Convolution' bottom: 'x' top: 'c' convolution_param { num_output: 2 kernel_size: 3 "
      "weight_filler { type: 'xavier' } bias_filler { value: 0.5 } } }\n"
      "layer { name: 'bn' type: 'BN' bottom: 'c' top: 'y' bn_param { " +
      options + " } }";
  std::vector<float> x(90);
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(float(i));
  Context context(1);
  const auto net = net_of(text, context, frozen);
  LayerWeights file{"bn", "BN", {}};
  for (const std::vector<float>& values : blobs) file.blobs.push_back({Shape{1, 2, 1, 1}, values});
  net->load_weights({file}, "w");
  net->write_blob("x", x.data());
  net->forward();
  EXPECT_EQ(net->plan().graph.nodes.size(), frozen ? 2u : 3u) << options;
  return net->read_blob("y");
}

TEST(Bn, IsFoldedIntoAConvolution) {
  const auto check = [](const std::string& options, const std::vector<std::vector<float>>& blobs) {
    const std::vector<float> apart = behind_convolution(options, blobs, false);
    const std::vector<float> folded = behind_convolution(options, blobs, true);
    for (size_t i = 0; i < apart.size(); ++i) EXPECT_NEAR(folded[i], apart[i], 1e-5) << options;
  };
  check("bn_mode: INFERENCE", {kSlope, kBias});
  check("eps: 1e-3", {kSlope, kBias, kMean, kVariance});
  check("frozen: true", {kSlope, kBias, kMean, kVariance});
}

}  // namespace
}  // namespace cortado
