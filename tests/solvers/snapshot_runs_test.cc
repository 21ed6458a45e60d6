// Several runs of one prefix: none takes another's snapshots for its own, and none loses them.

#include <map>

#include "proto/weights/solver_state_file.h"
#include "solvers/snapshot.h"
#include "tests/harness/hdf5_here.h"
#include "tests/solvers/training.h"

namespace cortado {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOld = "snapshot: 4 momentum: 0.9 ";
constexpr const char* kNew = "snapshot: 4 momentum: 0.9 base_lr: 0.05 ";  // a rerun with another rate

int64_t newest(const Folder& folder) {
  const std::optional<Snapshot> found = find_snapshot("auto", folder / "tiny");
  return found ? found->state.iter() : -1;
}

std::string run_of(const std::string& state) { return read_solver_state(state).training().run(); }

/// Folders that snapshots were moved to, in the order of their names.
std::vector<std::string> aside(const Folder& folder) {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(folder / ""))
    if (entry.path().filename().string().starts_with("tiny_before_")) found.push_back(entry.path().string());
  std::sort(found.begin(), found.end());
  return found;
}

/// What lies under snapshots' names in a folder.
std::map<std::string, std::string> snapshots_in(const std::string& folder) {
  std::map<std::string, std::string> content;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file() && entry.path().filename().string().starts_with("tiny_iter_"))
      content[entry.path().filename().string()] = read_file(entry.path().string());
  return content;
}

/// As programs before runs had identities wrote it, at a time of its own.
void make_old(const std::string& path, int seconds_ago) {
  caffe::SolverState state = read_solver_state(path);
  state.mutable_training()->clear_run();
  state.mutable_training()->clear_written();
  write_solver_state(path, state);
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::seconds(seconds_ago));
}

TEST(SnapshotRuns, AnInterruptedRerunIsGoneOnWithNotTheRunBeforeIt) {
  for (const std::string format : {"", "snapshot_format: HDF5 "}) {
    if (!format.empty()) SKIP_WITHOUT_HDF5();
    const std::string end = format.empty() ? "" : ".h5";
    Folder folder, whole;
    train(tiny_solver(whole, kNew + format));
    train(tiny_solver(folder, kOld + format));
    const auto before = snapshots_in(folder / "");
    ASSERT_EQ(before.size(), 6u);
    EXPECT_EQ(train(tiny_solver(folder, kNew + format), "", 6), Outcome::kStopped);
    ASSERT_EQ(aside(folder).size(), 1u);
    EXPECT_EQ(snapshots_in(aside(folder)[0]), before) << "nothing is lost";
    EXPECT_EQ(newest(folder), 6);
    EXPECT_EQ(train(tiny_solver(folder, kNew + format), "auto"), Outcome::kFinished);
    EXPECT_TRUE(read_file(folder / "tiny_iter_12.caffemodel" + end) ==
                read_file(whole / "tiny_iter_12.caffemodel" + end));
    EXPECT_EQ(aside(folder).size(), 1u);
    EXPECT_EQ(read_snapshot(aside(folder)[0] + "/tiny_iter_8.solverstate" + end).state.iter(), 8);
  }
}

TEST(SnapshotRuns, IdentityIsKeptThroughResumesAndNewWithEachStart) {
  Folder folder, other;
  train(tiny_solver(folder, kOld), "", 5);
  train(tiny_solver(folder, kOld), "auto", 7);
  train(tiny_solver(folder, kOld), "auto");
  const std::string run = run_of(folder / "tiny_iter_12.solverstate");
  EXPECT_EQ(run.size(), 16u);
  for (const char* iter : {"4", "5", "7", "8"}) EXPECT_EQ(run_of(folder / "tiny_iter_" + iter + ".solverstate"), run);
  EXPECT_TRUE(aside(folder).empty());
  train(tiny_solver(other, kOld));
  EXPECT_NE(run_of(other / "tiny_iter_12.solverstate"), run);
}

/// If a run branched, the later snapshots of the old branch do not belong to the new one.
TEST(SnapshotRuns, GoingOnFromAnEarlierPointSetsTheLaterOnesAside) {
  Folder folder;
  train(tiny_solver(folder, kOld));
  train(tiny_solver(folder, kNew), folder / "tiny_iter_4.solverstate", 6);
  EXPECT_EQ(newest(folder), 6);
  ASSERT_EQ(aside(folder).size(), 1u);
  EXPECT_EQ(snapshots_in(aside(folder)[0]).size(), 4u);
  EXPECT_TRUE(file_exists(folder / "tiny_iter_4.solverstate"));
  EXPECT_EQ(run_of(folder / "tiny_iter_6.solverstate"), run_of(folder / "tiny_iter_4.solverstate"));
}

TEST(SnapshotRuns, WeightsThatARunStartsFromStay) {
  Folder folder;
  train(tiny_solver(folder, kOld));
  const std::string weights = folder / "tiny_iter_12.caffemodel", content = read_file(weights);
  Context context(1);
  SolverOptions options;
  options.weights = {weights};
  Solver solver = make_solver(tiny_solver(folder, kNew), options, context);
  EXPECT_TRUE(read_file(weights) == content);
  EXPECT_FALSE(file_exists(folder / "tiny_iter_12.solverstate"));
  Requests requests{kRequestNothing};
  solver.run(requests);
  EXPECT_FALSE(read_file(weights) == content) << "iteration 12 of this run";
  EXPECT_TRUE(read_file(aside(folder).at(0) + "/tiny_iter_12.caffemodel") == content);
}

/// A mixture from older programs: the times of the files decide.
TEST(SnapshotRuns, WithoutIdentitiesTheClockDecides) {
  Folder folder, whole;
  train(tiny_solver(whole, kOld));
  train(tiny_solver(folder, kOld));
  EXPECT_EQ(newest(folder), 12);
  make_old(folder / "tiny_iter_12.solverstate", 300);
  make_old(folder / "tiny_iter_4.solverstate", 200);
  make_old(folder / "tiny_iter_8.solverstate", 100);
  EXPECT_EQ(newest(folder), 8);
  train(tiny_solver(folder, kOld), "auto");
  EXPECT_TRUE(read_file(folder / "tiny_iter_12.caffemodel") == read_file(whole / "tiny_iter_12.caffemodel"));
  EXPECT_NE(run_of(folder / "tiny_iter_12.solverstate"), "");
  EXPECT_EQ(snapshots_in(aside(folder).at(0)).size(), 2u);
}

TEST(SnapshotRuns, AutoNeverFallsBackOnAnotherRun) {
  Folder folder;
  train(tiny_solver(folder, kOld));
  const auto old = snapshots_in(folder / "");
  train(tiny_solver(folder, kNew), "", 6);
  for (const char* name : {"tiny_iter_12.solverstate", "tiny_iter_12.caffemodel"})
    write_file_atomically(folder / name, old.at(name));  // somebody moved them back
  EXPECT_EQ(newest(folder), 6);
  for (const char* iter : {"4", "6"}) write_file_atomically(folder / "tiny_iter_" + iter + ".caffemodel", "noise");
  std::string message;
  EXPECT_EQ(exit_code_of([&] { newest(folder); }, &message), ExitCode::kSnapshot);
  EXPECT_NE(message.find("tiny_iter_12.solverstate is of an earlier run"), std::string::npos) << message;
}

TEST(SnapshotRuns, WhoTrainsNothingMovesNothing) {
  Folder folder;
  train(tiny_solver(folder, kOld));
  train(tiny_solver(folder, std::string(kOld) + "max_iter: 4"), folder / "tiny_iter_4.solverstate");
  EXPECT_TRUE(aside(folder).empty());
}

/// The stamp at a state's begin is what auto reads of it; its changed bits must show.
TEST(SnapshotRuns, BothStampsOfAStateAreChecked) {
  Folder folder;
  train(tiny_solver(folder));
  const std::string path = folder / "tiny_iter_12.solverstate", whole = read_file(path);
  const std::string stamp = stamp_of(read_solver_state(path).training()).SerializeAsString();
  ASSERT_TRUE(whole.starts_with(stamp));
  for (size_t bit = 0; bit < stamp.size() * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = char(damaged[bit / 8] ^ (1 << bit % 8));
    write_file_atomically(path, damaged);
    EXPECT_EQ(exit_code_of([&] { read_solver_state(path); }), ExitCode::kSnapshot) << "bit " << bit;
  }
}

}  // namespace
}  // namespace cortado
