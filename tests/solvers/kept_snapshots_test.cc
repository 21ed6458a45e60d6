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
    EXPECT_FALSE(prune_snapshots({.prefix = folder / "tiny", .run = run}).newest_is_whole) << file;
    EXPECT_EQ(iterations(folder), (std::vector<int64_t>{4, 8, 12})) << file;
    bytes[bytes.size() / 2] = char(bytes[bytes.size() / 2] ^ 1);
    write_file_atomically(folder / file, bytes);
    EXPECT_TRUE(prune_snapshots({.prefix = folder / "tiny", .run = "another"}).files.empty()) << "of its own run alone";
    const PrunedSnapshots planned =
        prune_snapshots({.prefix = folder / "tiny", .run = run, .best = {4}, .dry_run = true});
    EXPECT_EQ(iterations(folder), (std::vector<int64_t>{4, 8, 12})) << "a dry run removes nothing";
    EXPECT_EQ(prune_snapshots({.prefix = folder / "tiny", .run = run, .best = {4}}).files, planned.files);
    EXPECT_EQ(planned.iterations, std::vector<int64_t>{8});
    EXPECT_EQ(iterations(folder), (std::vector<int64_t>{4, 12}));
  }
}

/// Each update multiplies the weights by about -10,000, so that soon a loss is not finite.
SolverFile exploding(const Folder& folder, const std::string& options) {
  return tiny_solver(folder, with_defaults(options, {"base_lr: 1e4", "max_iter: 50", "snapshot: 1", "keep_last: 1"}),
                     R"(
    layer { name: "data" type: "DummyData" top: "data" top: "target"
            dummy_data_param { shape { dim: 4 dim: 1 } shape { dim: 4 dim: 1 } data_filler { value: 1 }
                data_filler { value: 1 } } }
    layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
            inner_product_param { num_output: 1 weight_filler { type: "constant" value: 2 } } }
    layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "target" top: "loss" }
  )");
}

/// Trains until the loss is not finite, and returns the iteration of the snapshot that the error calls good.
int64_t last_good(SolverFile file, const std::string& snapshot = {}, const Device& device = {}) {
  std::string message;
  const auto work = [&] {
    Context context({.device = device});
    SolverOptions options;
    options.snapshot = snapshot;
    Requests requests{kRequestNothing};
    make_solver(std::move(file), options, context).run(requests);
  };
  EXPECT_EQ(exit_code_of(work, &message), ExitCode::kDiverged);
  const std::string before = "the snapshot of iteration ";
  const size_t at = message.find(before);
  if (at == message.npos) return -1;
  const int64_t good = std::stoll(message.substr(at + before.size()));
  EXPECT_NE(message.find(std::to_string(good) + " is good, " + before + std::to_string(good + 1) + " is not"),
            message.npos)
      << message;
  return good;
}

TEST(KeptSnapshots, KeepTheLastProvenOne) {
  for (const Device device : {Device{}, Device{DeviceKind::kSimulated, 0}})
    for (const char* more : {"", "iter_size: 2 ", "shards: 2 ", "clip_gradients: 1e30 ", "snapshot_format: HDF5 "}) {
      Folder folder;
      const int64_t good = last_good(exploding(folder, more), "", device);
      ASSERT_GT(good, 2) << more;
      EXPECT_EQ(iterations(folder), (std::vector<int64_t>{good, good + 1})) << more;
      const std::string stem = folder / ("tiny_iter_" + std::to_string(good)),
                        state = stem + (file_exists(stem + ".solverstate") ? ".solverstate" : ".solverstate.h5");
      train(exploding(folder, std::string(more) + "base_lr: 1e-9 max_iter: " + std::to_string(good + 3)), state);
      EXPECT_EQ(iterations(folder), std::vector<int64_t>{good + 3}) << more << "the end's loss proves its snapshot";
    }
}

TEST(KeptSnapshots, KeepTheLastProvenOneOverResumes) {
  Folder whole;
  const int64_t good = last_good(exploding(whole, ""));
  for (int64_t stop = 1; stop <= good + 1; ++stop) {
    Folder folder;
    train(exploding(folder, ""), "", stop);
    EXPECT_EQ(iterations(folder), (stop > 1 ? std::vector<int64_t>{stop - 1, stop} : std::vector<int64_t>{stop}));
    EXPECT_EQ(last_good(exploding(folder, ""), "auto"), good) << stop;
    EXPECT_EQ(iterations(folder), (std::vector<int64_t>{good, good + 1})) << stop;
    EXPECT_EQ(last_good(exploding(folder, ""), "auto"), good) << "a resume of weights that are of no use";
    EXPECT_EQ(iterations(folder), (std::vector<int64_t>{good, good + 1})) << stop;
  }
}

TEST(KeptSnapshots, KeepTheLastProvenOneAtTheEnd) {
  Folder folder;
  const int64_t good = last_good(exploding(folder, ""));
  Folder ended, proven;
  EXPECT_EQ(last_good(exploding(ended, "max_iter: " + std::to_string(good + 1))), good);
  EXPECT_EQ(iterations(ended), (std::vector<int64_t>{good, good + 1}));
  train(exploding(proven, "max_iter: " + std::to_string(good)));
  EXPECT_EQ(iterations(proven), std::vector<int64_t>{good});
  const std::string run = read_state_stamp(folder / ("tiny_iter_" + std::to_string(good) + ".solverstate")).run;
  EXPECT_FALSE(is_newest_at_end(folder / "tiny", run));
  EXPECT_TRUE(prune_snapshots({.prefix = folder / "tiny", .run = run, .newest_is_proven = false}).files.empty());
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
