// A residual net whose sums are merged into the normalisations before them, compared with the same net without merging.

#include <gtest/gtest.h>

#include <cmath>
#include <regex>

#include "core/half.h"
#include "core/rng.h"
#include "kernels/devices.h"
#include "layers/common/fusion_kinds.h"
#include "net/net.h"
#include "tests/net/trained_pass.h"

namespace cortado {
namespace {

/// Sums of two normalisations, of one and an earlier sum, without a ReLU, of a normalisation and its input, and one
/// that no convolution reads, so that its ReLU's mask is kept in bits. Without Winograd, whose scratch would hide the
/// effect on saved memory.
const char* const kNet = R"(
  name: "joins"
  layer { name: "in" type: "Input" top: "data" top: "label" input_param {
      shape { dim: 3 dim: 4 dim: 9 dim: 10 } shape { dim: 3 } } }
  layer { name: "side" type: "Convolution" bottom: "data" top: "side"
      convolution_param { num_output: 24 kernel_size: 1 bias_term: false weight_filler { type: "msra" } } }
  layer { name: "bn_side" type: "BatchNorm" bottom: "side" top: "side" }
  layer { name: "scale_side" type: "Scale" bottom: "side" top: "side" scale_param { bias_term: true } }
  layer { name: "c0" type: "Convolution" bottom: "data" top: "c0"
      convolution_param { engine: CAFFE num_output: 24 kernel_size: 3 pad: 1 bias_term: false
      weight_filler { type: "msra" } } }
  layer { name: "bn0" type: "BatchNorm" bottom: "c0" top: "c0" }
  layer { name: "scale0" type: "Scale" bottom: "c0" top: "c0" scale_param { bias_term: true } }
  layer { name: "sum0" type: "Eltwise" bottom: "side" bottom: "c0" top: "sum0" }
  layer { name: "relu0" type: "ReLU" bottom: "sum0" top: "sum0" }
  layer { name: "c1" type: "Convolution" bottom: "sum0" top: "c1"
      convolution_param { num_output: 24 kernel_size: 1 bias_term: false weight_filler { type: "msra" } } }
  layer { name: "bn1" type: "BatchNorm" bottom: "c1" top: "c1" }
  layer { name: "scale1" type: "Scale" bottom: "c1" top: "c1" scale_param { bias_term: true } }
  layer { name: "sum1" type: "Eltwise" bottom: "c1" bottom: "sum0" top: "sum1" }
  layer { name: "relu1" type: "ReLU" bottom: "sum1" top: "sum1" }
  layer { name: "c2" type: "Convolution" bottom: "sum1" top: "c2"
      convolution_param { num_output: 24 kernel_size: 1 bias_term: false weight_filler { type: "msra" } } }
  layer { name: "bn2" type: "BatchNorm" bottom: "c2" top: "c2" }
  layer { name: "sum2" type: "Eltwise" bottom: "sum1" bottom: "c2" top: "sum2" }
  layer { name: "bn3" type: "BatchNorm" bottom: "sum2" top: "bn3" }
  layer { name: "sum3" type: "Eltwise" bottom: "sum2" bottom: "bn3" top: "sum3" }
  layer { name: "relu3" type: "ReLU6" bottom: "sum3" top: "sum3" }
  layer { name: "c4" type: "Convolution" bottom: "sum3" top: "c4"
      convolution_param { num_output: 24 kernel_size: 1 bias_term: false weight_filler { type: "msra" } } }
  layer { name: "bn4" type: "BatchNorm" bottom: "c4" top: "c4" }
  layer { name: "sum4" type: "Eltwise" bottom: "c4" bottom: "sum3" top: "sum4" }
  layer { name: "relu4" type: "ReLU" bottom: "sum4" top: "sum4" }
  layer { name: "pool" type: "Pooling" bottom: "sum4" top: "pool" pooling_param { pool: AVE global_pooling: true } }
  layer { name: "fc" type: "InnerProduct" bottom: "pool" top: "fc" inner_product_param { num_output: 5
      weight_filler { type: "xavier" } } }
  layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc" bottom: "label" top: "loss" }
)";

struct Pass : TrainedPass {
  size_t nodes = 0;
  int left_sums = 0, given_sums = 0;  ///< normalisations that sum gradients, and that get the sums of x
  int maps = 0;                       ///< ... whose operand still has to be transformed
  std::string masks;                  ///< per sum: whether the ReLU's mask is kept in bits, or follows from y
};

/// Rounds weights to the precision in which devices read them, for nets on the CPU, which use 32-bit weights.
void round_weights(Net& net, Precision precision) {
  for (const Param& param : net.params())
    for (int64_t i = 0; i < param.format.bytes() / int64_t(sizeof(float)); ++i)
      param.w[i] = precision == Precision::kBf16 ? float(BFloat16(param.w[i])) : float(Half(param.w[i]));
}

/// The same without its ReLUs, so that rounding cannot change the sign that one tests.
std::string net_without_relus() { return std::regex_replace(kNet, std::regex("layer \\{ name: \"relu[^\n]*\n"), ""); }

/// Two passes. The second one's gradients are added to the first's if `options` accumulate.
Pass run(const graph::BuildOptions& options, Precision precision = Precision::kFp32, Device device = {},
         Precision of_weights = Precision::kFp32, const std::string& text = kNet) {
  Context context({.threads = 2, .device = device, .precision = precision});
  const auto net = make_net(std::make_shared<NetFile>(read_net_from_text(text, "net.prototxt")), options, context);
  if (of_weights != Precision::kFp32) round_weights(*net, of_weights);
  RandomStream random(5);
  const float label[] = {0, 3, 4};
  for (const bool again : {false, true}) {
    std::vector<float> data(size_t(net->blob_shape("data").count()));
    for (float& v : data) v = float(random.normal());
    net->write_blob("data", data.data());
    net->write_blob("label", label);
    net->forward();
    net->backward(again && options.accumulates);
  }
  Pass pass;
  pass.loss = net->loss();
  for (const Param& param : net->params()) {
    std::vector<float>& dw = pass.dw.emplace_back(size_t(param.shape.count()));
    param.format.to_plain(context, param.dw, dw.data());
  }
  pass.statistics = statistics_of(*net);
  pass.nodes = net->plan().graph.nodes.size();
  for (const graph::Node& node : net->plan().graph.nodes) {
    pass.left_sums += find_fusion(node.fusions, kGradientParts, Fusion::kMaker) != nullptr;
    pass.given_sums += find_fusion(node.fusions, kChannelSums, Fusion::kReader) != nullptr;
    pass.maps += find_fusion(node.fusions, kChannelMap, Fusion::kReader) != nullptr;
  }
  for (const LayerNeeds& needs : net->plan().needs)
    if (needs.last_saved_for_y) pass.masks += needs.saved.back() > 0 ? "bits " : "y ";
  return pass;
}

graph::BuildOptions training(bool fuses_sums) {
  graph::BuildOptions options;
  options.state.set_phase(caffe::TRAIN);
  if (!fuses_sums) options.switch_off = {"fuse_sums"};
  return options;
}

/// The norm of the difference of all gradients of a weight, relative to the norm of the gradients.
double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double apart = 0, all = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    apart += std::pow(double(a[i]) - double(b[i]), 2);
    all += double(b[i]) * double(b[i]);
  }
  return std::sqrt(apart / all);
}

TEST(JoinNet, merged_sums_change_no_bit) {
  const Pass apart = run(training(false)), joined = run(training(true));
  EXPECT_EQ(joined.nodes + 6, apart.nodes) << "five sums, and a ReLU6 that only a BatchNorm merges";
  EXPECT_EQ(joined.masks, "y y y bits ") << "no convolution reads the last sum";
  expect_same_bits(joined, apart);
}

TEST(JoinNet, merged_sums_change_no_bit_with_recompute_or_accumulation) {
  graph::BuildOptions apart = training(false), joined = training(true);
  apart.accumulates = joined.accumulates = true;
  joined.recompute = true;
  expect_same_bits(run(joined), run(apart));
}

TEST(JoinNet, merged_sums_change_no_bit_with_kept_sums) {
  graph::BuildOptions kept = training(true);
  kept.keep = {"sum0", "sum4"};
  const Pass joined = run(kept);
  EXPECT_EQ(joined.masks, "y y y y ");
  expect_same_bits(joined, run(training(false)));
  kept.keep = {"c1", "bn3"};
  EXPECT_EQ(run(kept).nodes, joined.nodes + 3) << "sums of kept values stay, and a ReLU6";
}

TEST(JoinNet, sums_are_not_merged_without_fusion) {
  graph::BuildOptions all = training(true);
  all.fuse = false;
  EXPECT_EQ(run(all).masks, "");
}

TEST(JoinNet, merged_sums_change_no_bit_on_a_device_in_32_bits) {
  const Device device{DeviceKind::kSimulated, 0};
  for (const Precision precision : {Precision::kFp32, Precision::kTf32})
    expect_same_bits(run(training(true), precision, device), run(training(false), precision, device));
}

/// Values between a normalisation and its sum are no longer rounded to 16 bits, so bits differ. With the same weights
/// both are as near to the 32-bit results as that rounding permits.
TEST(JoinNet, in_16_bits_gradients_are_as_near) {
  for (const Precision precision : {Precision::kBf16, Precision::kFp16}) {
    const Pass exact = run(training(false), Precision::kFp32, {}, precision);
    const double tolerance = precision == Precision::kBf16 ? 0.15 : 0.03;
    graph::BuildOptions options = training(true);
    options.switch_off = {"leave_maps"};  // one value of sum0 is 0 with it and 1e-4 without, so its gradient vanishes
    const Pass joined = run(options, precision, {DeviceKind::kSimulated, 0});
    EXPECT_NEAR(joined.loss, exact.loss, tolerance * exact.loss);
    for (size_t p = 0; p < exact.dw.size(); ++p)
      EXPECT_LT(distance(joined.dw[p], exact.dw[p]), tolerance) << name_of(precision) << ", param " << p;
  }
}

/// On devices a normalisation sums the gradients of its readers. With 16 bits it also gets the sums of its x from the
/// convolution, and leaves applying its result to a sum that is its only reader.
TEST(JoinNet, fusions_of_normalisations_change_no_bit_of_floats) {
  const Device device{DeviceKind::kSimulated, 0};
  graph::BuildOptions all = training(true), none = training(true);
  none.switch_off = {"leave_maps", "sum_channels", "leave_gradient_sums"};
  for (const Precision precision : {Precision::kFp32, Precision::kTf32}) {
    const Pass fused = run(all, precision, device), apart = run(none, precision, device);
    EXPECT_EQ(fused.left_sums, 4) << "all sums but the last, and the normalisation that is added to its input";
    EXPECT_EQ(apart.left_sums, 0);
    EXPECT_EQ(fused.given_sums + fused.maps, 0);
    expect_same_bits(fused, apart);
  }
  EXPECT_EQ(run(all).left_sums, 0) << "on the CPU";
  all.recompute = true;
  expect_same_bits(run(all, Precision::kFp32, device), run(none, Precision::kFp32, device));
}

TEST(JoinNet, with_fusions_of_normalisations_gradients_are_as_near_in_16_bits) {
  const Device device{DeviceKind::kSimulated, 0};
  const std::string net = net_without_relus();
  graph::BuildOptions recomputing = training(true), none = training(true);
  recomputing.recompute = true;
  none.switch_off = {"leave_maps", "sum_channels", "leave_gradient_sums"};
  for (const Precision precision : {Precision::kBf16, Precision::kFp16}) {
    const Pass exact = run(training(false), Precision::kFp32, {}, precision, net);
    const Pass fused = run(training(true), precision, device, Precision::kFp32, net),
               apart = run(none, precision, device, Precision::kFp32, net);
    EXPECT_EQ(fused.left_sums, 4);
    EXPECT_EQ(fused.given_sums, 5) << "each convolution's";
    EXPECT_EQ(fused.maps, 1) << "the shortcut's";
    EXPECT_EQ(apart.left_sums + apart.given_sums + apart.maps, 0);
    expect_same_bits(run(recomputing, precision, device, Precision::kFp32, net), fused);
    double of_fused = 0, of_apart = 0;
    for (size_t p = 0; p < exact.dw.size(); ++p) {
      of_fused += distance(fused.dw[p], exact.dw[p]);
      of_apart += distance(apart.dw[p], exact.dw[p]);
    }
    EXPECT_LT(of_fused, 1.2 * of_apart) << name_of(precision);
  }
}

}  // namespace
}  // namespace cortado
