// A flipped bit in a snapshot, or a truncated snapshot, is reported or changes nothing.
#include "core/log.h"
#include "proto/weights/solver_state_file.h"
#include "solvers/snapshot.h"
#include "tests/faults/flips.h"
#include "tests/harness/hdf5_here.h"
#include "tests/solvers/training.h"

namespace cortado {
namespace {

bool same(const std::vector<LayerWeights>& a, const std::vector<LayerWeights>& b) {
  const auto same_blob = [](const BlobFile& x, const BlobFile& y) {
    return x.shape == y.shape && x.data.size() == y.data.size() &&
           std::memcmp(x.data.data(), y.data.data(), x.data.size() * sizeof(float)) == 0;
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const LayerWeights& x, const LayerWeights& y) {
    return x.name == y.name && x.type == y.type &&
           std::equal(x.blobs.begin(), x.blobs.end(), y.blobs.begin(), y.blobs.end(), same_blob);
  });
}

class DamagedSnapshots : public testing::Test {
 protected:
  DamagedSnapshots() { set_log_level(Severity::kError); }
  ~DamagedSnapshots() override { set_log_level(Severity::kInfo); }

  /// Damages the weights and the solver state in turn.
  void damage_pair(const std::string& format, const std::string& end, const char* what, int flips) {
    train(tiny_solver(folder_, "momentum: 0.9 snapshot_format: " + format));
    const std::string weights = folder_ / "tiny_iter_12.caffemodel" + end,
                      state = folder_ / "tiny_iter_12.solverstate" + end;
    const Snapshot whole = read_snapshot(state);
    Tally tally{what};
    const auto look = [&] {
      const Snapshot read = read_snapshot(state);
      return same(read.weights, whole.weights) && read.state.SerializeAsString() == whole.state.SerializeAsString();
    };
    for (const std::string& file : {weights, state}) {
      const std::string bytes = read_file(file);
      damage(bytes, flips / 2, 1, [&](const std::string& damaged) {
        put_file(file, damaged);
        tally.count(look);
      });
      put_file(file, bytes);
    }
    EXPECT_EQ(tally.silent, 0);
    EXPECT_GT(tally.detected, flips / 2);
  }

  Folder folder_;
};

TEST_F(DamagedSnapshots, AreNotResumedFrom) { damage_pair("BINARYPROTO", "", "snapshots", number_of_flips()); }

TEST_F(DamagedSnapshots, AreNotResumedFromAsHdf5) {
  SKIP_WITHOUT_HDF5();
  damage_pair("HDF5", ".h5", "snapshots in HDF5", number_of_flips() / 50);
}

TEST_F(DamagedSnapshots, DoNotLoadAsWeights) {
  train(tiny_solver(folder_));
  const std::string bytes = read_file(folder_ / "tiny_iter_12.caffemodel");
  const std::vector<LayerWeights> whole = weights_from_bytes(bytes, "whole");
  Tally tally{"weights alone"};
  damage(bytes, number_of_flips(), 2, [&](const std::string& damaged) {
    tally.count([&] { return same(weights_from_bytes(damaged, "damaged"), whole); });
  });
  EXPECT_EQ(tally.silent, 0);
  EXPECT_GT(tally.detected, number_of_flips() / 2);
}

}  // namespace
}  // namespace cortado
