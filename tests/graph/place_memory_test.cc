#include "graph/place_memory.h"

#include <gtest/gtest.h>

#include "core/device/device_memory.h"
#include "core/rng.h"
#include "graph/passes/passes.h"
#include "graph/plan.h"

namespace cortado::graph {
namespace {

void expect_apart(const std::vector<Lifetime>& lives, const Placement& placed, int64_t alignment) {
  for (size_t a = 0; a < lives.size(); ++a) {
    EXPECT_EQ(placed.offsets[a] % alignment, 0);
    EXPECT_LE(placed.offsets[a] + lives[a].bytes, placed.bytes);
    for (size_t b = a + 1; b < lives.size(); ++b) {
      const bool same_time = lives[a].first <= lives[b].last && lives[b].first <= lives[a].last;
      const bool same_place = placed.offsets[a] < placed.offsets[b] + lives[b].bytes &&
                              placed.offsets[b] < placed.offsets[a] + lives[a].bytes;
      EXPECT_FALSE(same_time && same_place && lives[a].bytes > 0 && lives[b].bytes > 0) << a << " and " << b;
    }
  }
}

TEST(PlaceMemory, disjoint_lifetimes_share_memory) {
  const Placement placed = place_memory({{100, 0, 1}, {100, 2, 3}, {100, 1, 2}});
  EXPECT_EQ(placed.offsets[0], placed.offsets[1]);
  EXPECT_NE(placed.offsets[0], placed.offsets[2]);
  EXPECT_EQ(placed.bytes, 256);
}

TEST(PlaceMemory, nothing_overlaps_in_random_programs) {
  RandomStream random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<Lifetime> lives;
    int64_t most = 0;
    for (int i = 0; i < 60; ++i) {
      const int first = int(random.below(40));
      lives.push_back({int64_t(random.below(5000)), first, first + int(random.below(20))});
      most += lives.back().bytes;
    }
    for (const int64_t alignment : {kHostAlignment, kDeviceAlignment}) {
      const Placement placed = place_memory(lives, alignment);
      expect_apart(lives, placed, alignment);
      EXPECT_GE(placed.bytes, placed.live);
      EXPECT_LT(placed.bytes, most + int64_t(lives.size()) * alignment);
    }
  }
}

TEST(PlaceMemory, a_chain_needs_two_neighbours_at_a_time) {
  std::vector<Lifetime> chain;
  for (int i = 0; i < 100; ++i) chain.push_back({1024, i, i + 1});
  EXPECT_EQ(place_memory(chain).bytes, 2048);
  EXPECT_EQ(place_memory(chain).live, 2048);
}

TEST(PlaceMemory, on_a_device_scratch_has_the_alignment_of_workspaces) {
  constexpr const char* kNet = R"(
    layer { name: "data" type: "DummyData" top: "data" top: "target"
            dummy_data_param { shape { dim: 4 dim: 3 dim: 5 dim: 5 } shape { dim: 4 dim: 7 } } }
    layer { name: "bn" type: "BatchNorm" bottom: "data" top: "bn" }
    layer { name: "conv" type: "Convolution" bottom: "bn" top: "conv"
            convolution_param { num_output: 5 kernel_size: 3 } }
    layer { name: "bn2" type: "BatchNorm" bottom: "conv" top: "bn2" }
    layer { name: "ip" type: "InnerProduct" bottom: "bn2" top: "ip" inner_product_param { num_output: 7 } }
    layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "target" })";
  Context context({.device = {DeviceKind::kSimulated, 0}});
  BuildOptions options;
  options.state.set_phase(caffe::TRAIN);
  Graph graph = build(std::make_shared<NetFile>(read_net_from_text(kNet, "net")), options_for(options, context));
  run_passes(graph);
  const Plan plan = make_plan(std::move(graph), context);
  int with_scratch = 0;
  for (const auto* steps : {&plan.forward, &plan.backward})
    for (const Step& step : *steps) {
      with_scratch += step.scratch > 0;
      EXPECT_TRUE(step.scratch < 0 || step.scratch % kDeviceAlignment == 0) << plan.graph.node(step.node).name;
    }
  EXPECT_GT(with_scratch, 2);
}

}  // namespace
}  // namespace cortado::graph
