#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

const std::string kLayer = "type: 'UnlabeledMatching' unlabeled_matching_param { queue_size: 3 }";

Arrays example() { return {random({4, 2, 3}, 1), Array({4}, {-1, 7, -1, -2})}; }
const Array kKept = random({3, 6}, 2), kGradient = random({4, 3}, 3);

TEST(UnlabeledMatching, IsTheSimilarityWithTheQueue) {
  check_layer({.layer = kLayer,
               .x = example(),
               .reference = [](const Arrays& x, const Arrays& w) -> Arrays {
                 Array scores({4, 3}, 0.0);
                 for (size_t i = 0; i < 4; ++i)
                   for (size_t j = 0; j < 3; ++j)
                     for (size_t k = 0; k < 6; ++k) scores[3 * i + j] += x[0][6 * i + k] * w[0][6 * j + k];
                 return {scores};
               },
               .w = {kKept}});
}

/// The queue after rows of x[0] were written to places.
Array queue(const Arrays& x, const std::vector<std::pair<size_t, size_t>>& row_and_place) {
  Array expected = kKept;
  for (const auto& [row, place] : row_and_place)
    for (size_t k = 0; k < 6; ++k) expected[6 * place + k] = x[0][6 * row + k];
  return expected;
}

TEST(UnlabeledMatching, ReplacesTheOldest) {
  std::vector<Device> devices = tested_devices();
  devices.push_back({});
  for (const Device& device : devices) {
    const Arrays x = example();
    LayerRun run(kLayer, x, {.device = device}, {kKept});
    run.forward();
    run.backward({kGradient});
    expect_near(run.stored_w(0), queue(x, {{0, 0}, {2, 1}}), 1e-6, "after one pass");
    run.forward();
    run.backward({kGradient});
    expect_near(run.stored_w(0), queue(x, {{2, 1}, {0, 2}, {2, 0}}), 1e-6, "after two passes");
  }
}

TEST(UnlabeledMatching, LeavesTheQueueAloneInForward) {
  LayerRun run(kLayer, example(), {.backward = false}, {kKept});
  run.forward();
  expect_near(run.stored_w(0), kKept, 1e-6, "queue");
}

TEST(UnlabeledMatching, SnapshotsHoldThePlace) {
  LayerRun run(kLayer, example(), {}, {kKept});
  run.forward();
  run.backward({kGradient});
  const BatchMemory* memory = run.layer().roles().memory;
  ASSERT_NE(memory, nullptr);
  EXPECT_FALSE(memory->is_stateful());
  ASSERT_EQ(run.layer().roles().memory->carried().size(), 1u);
  EXPECT_EQ(run.layer().roles().memory->carried()[0], 2);
}

TEST(UnlabeledMatching, ReportsErrors) {
  const std::string field = "unlabeled_matching_param.queue_size";
  expect_field_error("type: 'UnlabeledMatching'", {{5, 6}, {5}}, field, "missing or 0");
  expect_field_error("type: 'UnlabeledMatching' unlabeled_matching_param { queue_size: 20000000 }", {{5, 6}, {5}},
                     field, "must not be above 16777216");
  expect_field_error(kLayer, {{5, 6}, {6}}, "bottom[1]", "5 rows");
}

}  // namespace
}  // namespace cortado::harness
