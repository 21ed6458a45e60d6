// snapshot_format: HDF5. What holds of binary snapshots holds of these.

#include <signal.h>
#include <sys/resource.h>

#include "proto/weights/solver_state_file.h"
#include "solvers/snapshot.h"
#include "tests/harness/hdf5_here.h"
#include "tests/solvers/training.h"

namespace cortado {
namespace {

constexpr const char* kHdf5 = "snapshot_format: HDF5 ";

class SnapshotHdf5 : public testing::Test {
 protected:
  void SetUp() override { SKIP_WITHOUT_HDF5(); }
};

int64_t newest(const Folder& folder) {
  const std::optional<Snapshot> found = find_snapshot("auto", folder / "tiny");
  return found ? found->state.iter() : -1;
}

/// All of a state but what may differ.
std::string state_bytes(const std::string& path) { return bytes_of(read_solver_state(path)); }

TEST_F(SnapshotHdf5, ResumesExactly) {
  for (const char* type : {"", "type: \"Adam\" ", "momentum: 0.9 iter_size: 2 average_loss: 3 "}) {
    const std::string options = std::string(kHdf5) + type + "snapshot: 3";
    Folder whole;
    train(tiny_solver(whole, options));
    for (const int stop_at : {1, 4, 7, 11}) {
      Folder folder;
      train(tiny_solver(folder, options), "", stop_at);
      train(tiny_solver(folder, options), "auto");
      EXPECT_TRUE(read_file(folder / "tiny_iter_12.caffemodel.h5") == read_file(whole / "tiny_iter_12.caffemodel.h5"))
          << type << stop_at;
      EXPECT_EQ(state_bytes(folder / "tiny_iter_12.solverstate.h5"), state_bytes(whole / "tiny_iter_12.solverstate.h5"))
          << type << stop_at;
    }
  }
}

TEST_F(SnapshotHdf5, IsTheBinarySnapshotInAnotherForm) {
  Folder binary, hdf5;
  train(tiny_solver(binary, "momentum: 0.9"));
  train(tiny_solver(hdf5, std::string(kHdf5) + "momentum: 0.9"));
  const Snapshot a = read_snapshot(binary / "tiny_iter_12.solverstate"),
                 b = read_snapshot(hdf5 / "tiny_iter_12.solverstate.h5");
  ASSERT_EQ(a.weights.size(), b.weights.size());
  for (const LayerWeights& layer : a.weights) {
    const auto same =
        std::find_if(b.weights.begin(), b.weights.end(), [&](const auto& w) { return w.name == layer.name; });
    ASSERT_NE(same, b.weights.end()) << layer.name;
    for (size_t i = 0; i < layer.blobs.size(); ++i) EXPECT_EQ(layer.blobs[i].data, same->blobs.at(i).data);
  }
  ASSERT_EQ(a.state.history_size(), b.state.history_size());
  for (int i = 0; i < a.state.history_size(); ++i)
    EXPECT_EQ(a.state.history(i).SerializeAsString(), b.state.history(i).SerializeAsString());
}

TEST_F(SnapshotHdf5, FormatsMayChangeOnTheWay) {
  Folder whole, folder;
  train(tiny_solver(whole, "momentum: 0.9"));
  train(tiny_solver(folder, "momentum: 0.9"), "", 3);
  train(tiny_solver(folder, std::string(kHdf5) + "momentum: 0.9"), "auto", 7);
  EXPECT_TRUE(file_exists(folder / "tiny_iter_7.solverstate.h5"));
  train(tiny_solver(folder, "momentum: 0.9"), "auto");
  EXPECT_TRUE(read_file(folder / "tiny_iter_12.caffemodel") == read_file(whole / "tiny_iter_12.caffemodel"));
}

TEST_F(SnapshotHdf5, DamageIsPassedOver) {
  Folder folder;
  train(tiny_solver(folder, std::string(kHdf5) + "snapshot: 4"));
  ASSERT_EQ(newest(folder), 12);
  for (const char* end : {".solverstate.h5", ".caffemodel.h5"}) {
    const std::string path = folder / "tiny_iter_12" + end, whole = read_file(path);
    int passed_over = 0, tried = 0;
    for (size_t i = 0; i < whole.size(); i += 1 + whole.size() / 60, ++tried) {
      std::string damaged = whole;
      damaged[i] = char(damaged[i] ^ (1 << (i % 8)));
      write_file_atomically(path, damaged);
      const int64_t found = newest(folder);
      ASSERT_TRUE(found == 8 || found == 12) << end << ": a flipped bit in byte " << i;
      passed_over += found == 8;
    }
    // The digest of the weights is of every byte. That of a state is of what it says: HDF5 has bytes that say nothing.
    EXPECT_TRUE(std::string(end) == ".solverstate.h5" ? passed_over > 5 : passed_over == tried)
        << passed_over << " of " << tried;
    for (size_t size = 0; size < whole.size(); size += 1 + whole.size() / 20) {
      write_file_atomically(path, whole.substr(0, size));
      ASSERT_EQ(newest(folder), 8) << end << ": cut to " << size << " bytes";
    }
    write_file_atomically(path, whole);
    ASSERT_EQ(newest(folder), 12);
  }
}

TEST_F(SnapshotHdf5, SharedWeightsAreThereForEveryLayer) {
  const std::string net = R"(
    layer { name: "data" type: "DummyData" top: "data" top: "target"
            dummy_data_param { shape { dim: 4 dim: 6 } shape { dim: 4 dim: 6 }
                               data_filler { type: "gaussian" } data_filler { type: "gaussian" } } }
    layer { name: "one" type: "InnerProduct" bottom: "data" top: "one" param { name: "w" } param { name: "b" }
            inner_product_param { num_output: 6 weight_filler { type: "xavier" } } }
    layer { name: "own" type: "InnerProduct" bottom: "one" top: "own" param { name: "w" } param { name: "c" }
            inner_product_param { num_output: 6 weight_filler { type: "xavier" } } }
    layer { name: "tail" type: "InnerProduct" bottom: "own" top: "tail" param { name: "v" } param { name: "b" }
            inner_product_param { num_output: 6 weight_filler { type: "xavier" } } }
    layer { name: "all" type: "InnerProduct" bottom: "tail" top: "all" param { name: "w" } param { name: "b" }
            inner_product_param { num_output: 6 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "EuclideanLoss" bottom: "all" bottom: "target" })";
  const std::string options = std::string(kHdf5) + "snapshot: 6 snapshot_diff: true";
  Folder whole, folder;
  train(tiny_solver(whole, options, net));
  const std::vector<LayerWeights> weights = read_weights(whole / "tiny_iter_12.caffemodel.h5");
  ASSERT_EQ(weights.size(), 4u) << "a net may lack the owner of what 'all' shares";
  for (const LayerWeights& layer : weights) EXPECT_EQ(layer.blobs.size(), 2u) << layer.name;
  train(tiny_solver(folder, options, net), "", 6);
  train(tiny_solver(folder, options, net), "auto");
  EXPECT_TRUE(read_file(folder / "tiny_iter_12.caffemodel.h5") == read_file(whole / "tiny_iter_12.caffemodel.h5"));
}

TEST_F(SnapshotHdf5, NamesThatDoNotFitAreRefusedBeforeTheTraining) {
  const std::string net = R"(
    layer { name: "data" type: "DummyData" top: "data" dummy_data_param { shape { dim: 2 dim: 3 } } }
    layer { name: "a" type: "InnerProduct" bottom: "data" top: "a" inner_product_param { num_output: 3 } }
    layer { name: "a/0" type: "InnerProduct" bottom: "a" top: "b" inner_product_param { num_output: 3 } }
    layer { name: "loss" type: "EuclideanLoss" bottom: "b" bottom: "data" })";
  Folder folder;
  std::string message;
  Context context(1);
  EXPECT_EQ(exit_code_of([&] { make_solver(tiny_solver(folder, kHdf5, net), {}, context); }, &message),
            ExitCode::kSnapshot);
  EXPECT_NE(message.find("'data/a/0' is a blob"), std::string::npos) << message;
}

TEST_F(SnapshotHdf5, AFullDiskIsForgiven) {
  Folder folder;
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const auto limit = [&](rlim_t most) {
    rlimit small = before;
    small.rlim_cur = most;
    setrlimit(RLIMIT_FSIZE, &small);
  };
  signal(SIGXFSZ, SIG_IGN);
  AfterIteration fill([&](const Progress& progress) {
    if (progress.iter == 8) limit(100);
    if (progress.iter == 9) limit(before.rlim_cur);
  });
  Context context(1);
  Solver solver = make_solver(tiny_solver(folder, std::string(kHdf5) + "snapshot: 4"), {}, context);
  solver.add_observer(&fill);
  Requests requests{kRequestNothing};
  EXPECT_EQ(solver.run(requests), Outcome::kFinished);
  EXPECT_EQ(newest(folder), 12);
  EXPECT_FALSE(file_exists(folder / "tiny_iter_8.solverstate.h5"));
  for (const auto& entry : std::filesystem::directory_iterator(folder / ""))
    EXPECT_EQ(entry.path().string().find(".tmp."), std::string::npos) << entry.path();
}

}  // namespace
}  // namespace cortado
