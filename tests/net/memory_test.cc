// Saving memory changes no bit: transient gradients, values recomputed in backward, ReLU masks replaced by those of the
// pooling after it. Each is compared with the net that keeps everything.

#include <gtest/gtest.h>

#include <cstring>

#include "core/rng.h"
#include "kernels/kernel_cache.h"
#include "net/net.h"
#include "tests/net/trained_pass.h"

namespace cortado {
namespace {

/// Normalised values with one reader, with two, read by the next normalisation, and below a residual sum; max poolings
/// with overlapping and with disjoint windows; one weight of two layers; one layer that no loss depends on. Without
/// Winograd and AMX, whose scratch would hide the effect on saved memory.
const char* const kNet = R"(
  name: "memory"
  layer { name: "in" type: "Input" top: "data" top: "label" input_param {
      shape { dim: 3 dim: 4 dim: 21 dim: 18 } shape { dim: 3 } } }
  layer { name: "c0" type: "Convolution" bottom: "data" top: "c0"
      convolution_param { engine: CAFFE num_output: 32 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
  layer { name: "r0" type: "ReLU" bottom: "c0" top: "c0" }
  layer { name: "p0" type: "Pooling" bottom: "c0" top: "p0" pooling_param { pool: MAX kernel_size: 3 stride: 2 } }
  layer { name: "c1" type: "Convolution" bottom: "p0" top: "c1"
      convolution_param { engine: CAFFE num_output: 32 kernel_size: 3 pad: 1 bias_term: false
      weight_filler { type: "msra" } } }
  layer { name: "bn1" type: "BatchNorm" bottom: "c1" top: "c1" }
  layer { name: "sc1" type: "Scale" bottom: "c1" top: "c1" scale_param { bias_term: true } }
  layer { name: "r1" type: "ReLU" bottom: "c1" top: "c1" }
  layer { name: "c2" type: "Convolution" bottom: "c1" top: "c2" param { name: "shared" }
      convolution_param { num_output: 32 kernel_size: 1 bias_term: false weight_filler { type: "msra" } } }
  layer { name: "bn2" type: "BatchNorm" bottom: "c2" top: "c2" }
  layer { name: "bn3" type: "BatchNorm" bottom: "c2" top: "bn3" }
  layer { name: "c3" type: "Convolution" bottom: "bn3" top: "c3" param { name: "shared" }
      convolution_param { num_output: 32 kernel_size: 1 bias_term: false } }
  layer { name: "bn4" type: "BatchNorm" bottom: "c3" top: "c3" }
  layer { name: "sum" type: "Eltwise" bottom: "c3" bottom: "c1" top: "sum" }
  layer { name: "r3" type: "ReLU" bottom: "sum" top: "sum" }
  layer { name: "c4" type: "Convolution" bottom: "sum" top: "c4"
      convolution_param { engine: CAFFE num_output: 20 kernel_size: 1 weight_filler { type: "xavier" } } }
  layer { name: "r4" type: "ReLU" bottom: "c4" top: "c4" }
  layer { name: "p4" type: "Pooling" bottom: "c4" top: "p4" pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
  layer { name: "fc" type: "InnerProduct" bottom: "p4" top: "fc" inner_product_param { num_output: 5
      weight_filler { type: "xavier" } } }
  layer { name: "side" type: "InnerProduct" bottom: "p4" top: "side"
      inner_product_param { num_output: 7 weight_filler { type: "xavier" } } }
  layer { name: "quiet" type: "Silence" bottom: "side" }
  layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc" bottom: "label" top: "loss" }
)";

/// Copies every gradient when it is complete, and then overwrites w, as an update may.
struct Copies : GradientReader {
  Net& net;
  std::vector<std::vector<float>> dw;
  std::vector<int> told;
  explicit Copies(Net& net) : net(net), dw(net.params().size()), told(net.params().size()) {}
  void on_complete(size_t p) override {
    const Param& param = net.params()[p];
    dw[p].assign(param.dw, param.dw + param.count);
    ++told[p];
    std::memset(param.w, 0xFF, size_t(param.count) * sizeof(float));
    std::memset(param.dw, 0xFF, size_t(param.count) * sizeof(float));
  }
};

struct Pass : TrainedPass {
  int64_t arena_bytes = 0, gradient_bytes = 0;
  size_t backward_steps = 0;
};

Pass run(const graph::BuildOptions& options) {
  Context context(2);
  context.handle<kernels::KernelCache>().exclude(kernels::ConvAlgorithm::kAmx);
  const auto net = make_net(std::make_shared<NetFile>(read_net_from_text(kNet, "net.prototxt")), options, context);
  RandomStream random(5);
  std::vector<float> data(size_t(net->blob_shape("data").count()));
  for (float& v : data) v = float(random.normal());
  net->write_blob("data", data.data());
  const float label[] = {0, 3, 4};
  net->write_blob("label", label);
  Pass pass;
  net->forward();
  pass.loss = net->loss();
  Copies copies(*net);
  net->backward(false, &copies);
  for (size_t p = 0; p < copies.told.size(); ++p) EXPECT_EQ(copies.told[p], 1) << net->params()[p].layer;
  pass.dw = copies.dw;
  pass.statistics = statistics_of(*net);
  pass.arena_bytes = net->plan().arena_bytes;
  pass.gradient_bytes = net->plan().gradient_bytes();
  pass.backward_steps = net->backward_steps();
  return pass;
}

graph::BuildOptions plain() {
  graph::BuildOptions options;
  options.state.set_phase(caffe::TRAIN);
  options.switch_off = {"move_relu_masks"};
  return options;
}

TEST(Memory, transient_gradients_equal_kept_ones) {
  graph::BuildOptions transient = plain();
  transient.transient_gradients = true;
  const Pass kept = run(plain()), passing = run(transient);
  expect_same_bits(kept, passing);
  EXPECT_GT(kept.gradient_bytes, passing.gradient_bytes);
  EXPECT_LT(passing.arena_bytes + passing.gradient_bytes, kept.arena_bytes + kept.gradient_bytes);
}

TEST(Memory, a_weight_without_a_loss_is_reported_with_a_zero_gradient) {
  graph::BuildOptions transient = plain();
  transient.transient_gradients = true;
  const Pass pass = run(transient);
  EXPECT_EQ(pass.gradient_bytes, pass.dw[pass.dw.size() - 2].size() * 4 + pass.dw.back().size() * 4);
  for (const float v : pass.dw.back()) EXPECT_EQ(v, 0);
}

TEST(Memory, recomputed_values_equal_kept_ones) {
  graph::BuildOptions again = plain();
  again.recompute = true;
  const Pass kept = run(plain()), recomputed = run(again);
  expect_same_bits(kept, recomputed);
  EXPECT_EQ(recomputed.backward_steps, kept.backward_steps + 4) << "bn1 to bn3, and bn4 with the sum";
  EXPECT_LT(recomputed.arena_bytes, kept.arena_bytes);
}

TEST(Memory, pooling_masks_replace_relu_masks) {
  graph::BuildOptions handed = plain();
  handed.switch_off.clear();
  const Pass kept = run(plain()), masked = run(handed);
  expect_same_bits(kept, masked);
  EXPECT_LT(masked.arena_bytes, kept.arena_bytes);
}

TEST(Memory, all_combined) {
  graph::BuildOptions all = plain();
  all.switch_off.clear();
  all.transient_gradients = all.recompute = true;
  expect_same_bits(run(plain()), run(all));
}

}  // namespace
}  // namespace cortado
