// What an update leaves in place of the gradients, for snapshot_diff and for scripts: as in Caffe, what it subtracted
// from the weights.

#include "core/device.h"
#include "solvers/solver.h"
#include "tests/solvers/training.h"

namespace cortado {
namespace {

/// Of every blob: its values, and what is in its gradient.
std::vector<std::pair<std::vector<float>, std::vector<float>>> blobs_of(Net& net) {
  std::vector<std::pair<std::vector<float>, std::vector<float>>> blobs;
  const caffe::NetParameter message = net.to_proto(true);
  for (const caffe::LayerParameter& layer : message.layer())
    for (const caffe::BlobProto& blob : layer.blobs())
      blobs.push_back({{blob.data().begin(), blob.data().end()}, {blob.diff().begin(), blob.diff().end()}});
  return blobs;
}

void expect_updates(Solver& solver) {
  solver.step(2);
  const auto before = blobs_of(solver.net());
  solver.step(1);
  const auto after = blobs_of(solver.net());
  int updates = 0;
  for (size_t k = 0; k < after.size(); ++k) {
    const std::vector<float>& update = after[k].second;
    for (size_t i = 0; i < update.size(); ++i) EXPECT_EQ(before[k].first[i] - update[i], after[k].first[i]) << k;
    updates += std::ranges::any_of(update, [](float value) { return value != 0; });
  }
  EXPECT_EQ(updates, 3) << "of three blobs that learn";
}

TEST(KeptUpdates, AreWhatWasSubtracted) {
  for (const char* device : {"cpu", "simulated"})
    for (const char* options :
         {"", "momentum: 0.9 weight_decay: 0.1", "type: \"Adam\" momentum: 0.9", "momentum: 0.9 iter_size: 2",
          "momentum: 0.9 clip_gradients: 0.01", "larc: true momentum: 0.9", "momentum: 0.9 shards: 2"})
      for (const bool by_field : {true, false}) {
        SCOPED_TRACE(std::string(device) + " " + options + (by_field ? " snapshot_diff" : " for a script"));
        Folder folder;
        Context context({.threads = 1, .device = device_named(device)});
        SolverOptions made;
        made.observed = made.keeps_updates = !by_field;
        Solver solver = make_solver(
            tiny_solver(folder, std::string(options) + (by_field ? " snapshot_diff: true" : "")), made, context);
        expect_updates(solver);
      }
}

/// Without these options a solver leaves the gradients of its iteration.
TEST(KeptUpdates, AreKeptOnRequest) {
  Folder folder;
  Context context(1);
  SolverOptions options;
  options.observed = true;
  Solver solver = make_solver(tiny_solver(folder, "base_lr: 0"), options, context);
  solver.step(1);
  EXPECT_TRUE(std::ranges::any_of(blobs_of(solver.net()).back().second, [](float value) { return value != 0; }));
}

}  // namespace
}  // namespace cortado
