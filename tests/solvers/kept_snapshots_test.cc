// keep_best, keep_last and snapshot_every: which snapshots of a run there are in the end.
#include <algorithm>
#include <filesystem>

#include "core/error.h"
#include "proto/weights/solver_state_file.h"
#include "solvers/snapshot.h"
#include "solvers/snapshot_files.h"
#include "tests/solvers/training.h"

namespace cortado {
namespace {

std::vector<int64_t> iterations(const Folder& folder) {
  std::vector<int64_t> out;
  for (const SnapshotFile& file : list_snapshot_files(folder / "tiny"))
    if (file.is_state) out.push_back(file.iter);
  std::sort(out.begin(), out.end());
  return out;
}

/// Learns too fast: the loss of the second test is less than that of the first, and grows from then on.
SolverFile worsening(const Folder& folder, const std::string& options) {
  return tiny_solver(folder, "test_iter: 1 test_interval: 2 snapshot: 2 keep_best: \"loss\" " + options, R"(
    name: "best"
    layer { name: "data" type: "DummyData" top: "data" top: "target"
            dummy_data_param { shape { dim: 4 dim: 6 } shape { dim: 4 dim: 3 } data_filler { value: 1 }
                data_filler { value: 2 } } }
    layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
            inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "target" top: "loss" }
  )");
}

/// Momentum carries the weights past the best ones and back.
const char* const kSwings = "base_lr: 0.15 momentum: 0.9 max_iter: 12 ";

int64_t best_of(const Folder& folder) {
  const caffe::TrainingState training = read_state(folder / "tiny_iter_12.solverstate").training();
  EXPECT_TRUE(training.has_keep_best_iter());
  return training.keep_best_iter();
}

TEST(KeptSnapshots, AreTheLastAndTheBest) {
  Folder folder;
  train(worsening(folder, std::string(kSwings) + "keep_last: 2"));
  const int64_t best = best_of(folder);
  ASSERT_GT(best, 0);
  ASSERT_LT(best, 10) << "else it says nothing about what stays";
  EXPECT_EQ(iterations(folder), (std::vector<int64_t>{best, 10, 12}));
  EXPECT_EQ(read_file(folder / "tiny_best.caffemodel"),
            read_file(folder / ("tiny_iter_" + std::to_string(best) + ".caffemodel")));
  const std::string run = read_state_stamp(folder / "tiny_iter_12.solverstate").run;
  EXPECT_EQ(best_iterations(folder / "tiny", run), std::set<int64_t>{best});
  write_file_atomically(folder / "tiny_best.caffemodel", "noise");
  EXPECT_EQ(best_iterations(folder / "tiny", run), std::set<int64_t>{best}) << "the state says it, too";
  std::filesystem::remove(folder / "tiny_best.caffemodel");
  EXPECT_EQ(best_iterations(folder / "tiny", run), std::set<int64_t>{best});
  for (const auto& entry : std::filesystem::directory_iterator(folder / ""))
    EXPECT_EQ(entry.path().string().find(".tmp."), std::string::npos) << entry.path();
  for (const int64_t gone : {2, 4, 6, 8})
    EXPECT_EQ(file_exists(folder / ("tiny_iter_" + std::to_string(gone) + ".caffemodel")), gone == best);
}

TEST(KeptSnapshots, AreTheSameOverAResume) {
  Folder whole, stopped;
  train(worsening(whole, std::string(kSwings) + "keep_last: 1"));
  const int64_t best = best_of(whole);
  for (const int64_t at : {int64_t(1), best, best + 1, int64_t(11)}) {
    std::filesystem::remove_all(stopped / "");
    std::filesystem::create_directories(stopped / "");
    train(worsening(stopped, std::string(kSwings) + "keep_last: 1"), "", at);
    train(worsening(stopped, std::string(kSwings) + "keep_last: 1"), "auto");
    EXPECT_EQ(iterations(stopped), iterations(whole)) << "stopped at " << at;
    EXPECT_EQ(read_file(stopped / "tiny_best.caffemodel"), read_file(whole / "tiny_best.caffemodel")) << at;
  }
}

/// The test that found the best is done again after a death that came before the best was named.
TEST(KeptSnapshots, NameTheBestThoughDeathCameBetween) {
  Folder folder;
  train(worsening(folder, kSwings));
  const int64_t best = best_of(folder);
  const std::string stem = folder / ("tiny_iter_" + std::to_string(best));
  std::filesystem::remove(folder / "tiny_best.caffemodel");
  train(worsening(folder, kSwings), stem + ".solverstate", best + 1);
  EXPECT_EQ(read_file(folder / "tiny_best.caffemodel"), read_file(stem + ".caffemodel"));
}

TEST(KeptSnapshots, OfAnotherRunAreSetAside) {
  Folder folder;
  train(worsening(folder, kSwings));
  const std::string best = read_file(folder / "tiny_best.caffemodel");
  train(worsening(folder, "base_lr: 0.001 max_iter: 1"));
  EXPECT_FALSE(file_exists(folder / "tiny_best.caffemodel")) << "nothing was tested yet";
  bool found = false;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / ""))
    found = found || (entry.path().filename() == "tiny_best.caffemodel" && read_file(entry.path()) == best);
  EXPECT_TRUE(found);
}

/// What a disk does to the newest one must not cost the one before it.
TEST(KeptSnapshots, StayWhereTheNewestIsNotWhole) {
  for (const char* file : {"tiny_iter_12.caffemodel", "tiny_iter_12.solverstate"}) {
    Folder folder;
    train(tiny_solver(folder, "snapshot: 4"));
    const std::string run = read_state(folder / "tiny_iter_12.solverstate").training().run();
    std::string bytes = read_file(folder / file);
    bytes[bytes.size() / 2] = char(bytes[bytes.size() / 2] ^ 1);
    write_file_atomically(folder / file, bytes);
    EXPECT_FALSE(prune_snapshots({folder / "tiny", run}).newest_is_whole) << file;
    EXPECT_EQ(iterations(folder), (std::vector<int64_t>{4, 8, 12})) << file;
    bytes[bytes.size() / 2] = char(bytes[bytes.size() / 2] ^ 1);
    write_file_atomically(folder / file, bytes);
    EXPECT_TRUE(prune_snapshots({folder / "tiny", "another"}).files.empty()) << "of its own run alone";
    const PrunedSnapshots planned = prune_snapshots({folder / "tiny", run, 1, {4}, true});
    EXPECT_EQ(iterations(folder), (std::vector<int64_t>{4, 8, 12})) << "a dry run removes nothing";
    EXPECT_EQ(prune_snapshots({folder / "tiny", run, 1, {4}}).files, planned.files);
    EXPECT_EQ(planned.iterations, std::vector<int64_t>{8});
    EXPECT_EQ(iterations(folder), (std::vector<int64_t>{4, 12}));
  }
}

TEST(KeptSnapshots, AreWrittenByTheClock) {
  Folder folder;
  train(tiny_solver(folder, "snapshot_every: \"0.001s\" max_iter: 400"));
  const std::vector<int64_t> written = iterations(folder);
  EXPECT_GT(written.size(), 1u) << "besides that of the end";
  EXPECT_LT(written.size(), 400u);
}

TEST(SnapshotEvery, IsATime) {
  EXPECT_EQ(seconds_of_interval("90s"), 90);
  EXPECT_EQ(seconds_of_interval("1.5h"), 5400);
  EXPECT_EQ(seconds_of_interval("10m"), 600);
  for (const char* wrong : {"", "10", "m", "-1s", "0s", "1e99h", "nans", "10 m x"})
    EXPECT_THROW(seconds_of_interval(wrong), FieldError) << wrong;
}

}  // namespace
}  // namespace cortado
