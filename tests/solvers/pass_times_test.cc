#include <gtest/gtest.h>

#include <algorithm>

#include "proto/files/read_text.h"
#include "solvers/iteration_cost.h"
#include "solvers/rank_share.h"

namespace cortado {
namespace {

std::string dense(const std::string& name, const std::string& bottom) {
  return "layer { name: '" + name + "' type: 'InnerProduct' bottom: '" + bottom + "' top: '" + name +
         "' inner_product_param { num_output: 600 weight_filler { type: 'xavier' } } }";
}

/// Weights of 1.4 MB each: the last layer's are a part, those of the others another one.
TEST(PassTimes, PartsAreCompleteInTheirOrderWithinBackward) {
  const std::string text =
      "layer { name: 'data' type: 'DummyData' top: 'data' dummy_data_param { shape { dim: 2 dim: 600 }"
      " data_filler { type: 'gaussian' } } }" +
      dense("a", "data") + dense("b", "a") + dense("c", "b") +
      "layer { name: 'loss' type: 'Reduction' bottom: 'c' top: 'loss' loss_weight: 1 }";
  Context context(1);
  graph::BuildOptions options;
  options.state.set_phase(caffe::TRAIN);
  options.backward = true;
  const auto net = make_net(std::make_shared<NetFile>(read_net_from_text(text, "net.prototxt")), options, context);
  ASSERT_EQ(gradient_parts(*net).size(), 2u);
  const PassTimes times = measure_passes(*net);
  ASSERT_EQ(times.complete.size(), 2u);
  EXPECT_GT(times.forward, 0);
  EXPECT_GT(times.complete[0], 0);
  EXPECT_LT(times.complete[0], times.complete[1]);
  EXPECT_LE(times.complete[1], times.backward);
}

}  // namespace
}  // namespace cortado
