#include "solvers/snapshot.h"

#include <signal.h>
#include <sys/resource.h>

#include <set>

#include "tests/solvers/training.h"

namespace cortado {
namespace {

/// Snapshots of iterations 4, 8 and 12.
void train_with_snapshots(const Folder& folder) { train(tiny_solver(folder, "snapshot: 4")); }

int64_t newest(const Folder& folder) {
  const std::optional<Snapshot> found = find_snapshot("auto", folder / "tiny");
  return found ? found->state.iter() : -1;
}

TEST(Snapshot, DamageIsFoundWhereverItIs) {
  Folder folder;
  train_with_snapshots(folder);
  ASSERT_EQ(newest(folder), 12);
  for (const char* end : {".solverstate", ".caffemodel"}) {
    const std::string path = folder / "tiny_iter_12" + end, whole = read_file(path);
    for (size_t i = 0; i < whole.size(); i += 1 + whole.size() / 150) {
      std::string damaged = whole;
      damaged[i] = char(damaged[i] ^ (1 << (i % 8)));
      write_file_atomically(path, damaged);
      ASSERT_EQ(newest(folder), 8) << end << ": a flipped bit in byte " << i;
      write_file_atomically(path, whole.substr(0, i));
      ASSERT_EQ(newest(folder), 8) << end << ": cut to " << i << " bytes";
    }
    for (size_t bit = 8 * (whole.size() - 8); bit < 8 * whole.size(); ++bit) {
      std::string damaged = whole;
      damaged[bit / 8] = char(damaged[bit / 8] ^ (1 << (bit % 8)));
      write_file_atomically(path, damaged);
      ASSERT_EQ(newest(folder), 8) << end << ": bit " << bit << " of the last bytes";
    }
    write_file_atomically(path, whole);
    ASSERT_EQ(newest(folder), 12);
  }
}

void expect_no_bools(const google::protobuf::Descriptor& type, std::set<const google::protobuf::Descriptor*>& seen) {
  if (!seen.insert(&type).second) return;
  for (int i = 0; i < type.field_count(); ++i) {
    const auto& field = *type.field(i);
    EXPECT_NE(field.cpp_type(), field.CPPTYPE_BOOL) << field.full_name();
    if (field.message_type()) expect_no_bools(*field.message_type(), seen);
  }
}

/// A bool is true for every number but 0, so a flipped bit may leave its value, and with it the digest.
TEST(Snapshot, StatesHaveNoBools) {
  std::set<const google::protobuf::Descriptor*> seen;
  expect_no_bools(*caffe::SolverState::descriptor(), seen);
  EXPECT_TRUE(seen.contains(caffe::TrainingState::descriptor()));
}

TEST(Snapshot, NeedsItsOwnWeights) {
  Folder folder;
  train_with_snapshots(folder);
  std::filesystem::copy_file(folder / "tiny_iter_8.caffemodel", folder / "tiny_iter_12.caffemodel",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(newest(folder), 8);
  EXPECT_EQ(exit_code_of([&] { read_snapshot(folder / "tiny_iter_12.solverstate"); }), ExitCode::kSnapshot);
  std::filesystem::remove(folder / "tiny_iter_8.caffemodel");
  EXPECT_EQ(newest(folder), 4);
}

TEST(Snapshot, MovesAsAPair) {
  Folder folder;
  train_with_snapshots(folder);
  std::filesystem::create_directory(folder / "moved");
  for (const char* name : {"tiny_iter_8.solverstate", "tiny_iter_8.caffemodel"})
    std::filesystem::rename(folder / name, folder / "moved/" + name);
  EXPECT_EQ(read_snapshot(folder / "moved/tiny_iter_8.solverstate").weights_path,
            folder / "moved/tiny_iter_8.caffemodel");
}

TEST(Snapshot, TellsWeightsFromState) {
  Folder folder;
  train_with_snapshots(folder);
  std::string message;
  EXPECT_EQ(exit_code_of([&] { read_snapshot(folder / "tiny_iter_8.caffemodel"); }, &message), ExitCode::kSnapshot);
  EXPECT_NE(message.find("--weights"), std::string::npos) << message;
  EXPECT_EQ(exit_code_of([&] { read_snapshot(folder / "nothing"); }), ExitCode::kIo);
  write_file_atomically(folder / "noise", "this is not a message");
  EXPECT_EQ(exit_code_of([&] { read_snapshot(folder / "noise"); }), ExitCode::kSnapshot);
  write_file_atomically(folder / "empty", "");
  EXPECT_EQ(exit_code_of([&] { read_snapshot(folder / "empty"); }), ExitCode::kSnapshot);
}

TEST(Snapshot, RefusesAnotherRulesHistory) {
  Folder folder;
  train(tiny_solver(folder, "type: \"Adam\""), "", 4);
  std::string message;
  EXPECT_EQ(exit_code_of([&] { train(tiny_solver(folder), "auto"); }, &message), ExitCode::kSnapshot);
  EXPECT_NE(message.find("solver type"), std::string::npos) << message;
}

/// One blob for each weight that Caffe would count, also for those that do not learn; all first halves, then all
/// second.
TEST(Snapshot, LaysHistoryOutAsCaffeDoes) {
  Folder folder;
  train(tiny_solver(folder, "type: \"Adam\""));
  const caffe::SolverState state = read_state(folder / "tiny_iter_12.solverstate");
  const std::vector<std::vector<int64_t>> shapes = {{5, 6}, {5}, {5}, {3, 5}, {3}};  // frozen, slope, learned
  ASSERT_EQ(state.history_size(), 10);
  for (int i = 0; i < 10; ++i) {
    const caffe::BlobProto& blob = state.history(i);
    const std::vector<int64_t> dims(blob.shape().dim().begin(), blob.shape().dim().end());
    EXPECT_EQ(dims, shapes[size_t(i % 5)]) << i;
    bool any = false, negative = false;
    for (const float value : blob.data()) {
      any = any || value != 0;
      negative = negative || value < 0;
    }
    EXPECT_EQ(any, i % 5 >= 2) << "only what learns has a history: " << i;
    EXPECT_FALSE(i >= 5 && negative) << "the second half holds means of squares: " << i;
  }
  EXPECT_EQ(state.iter(), 12);
  EXPECT_EQ(state.learned_net(), folder / "tiny_iter_12.caffemodel");
}

TEST(Snapshot, OneTrainerAPrefix) {
  Folder folder;
  {
    SnapshotLock lock(folder / "tiny");
    EXPECT_EQ(exit_code_of([&] { train(tiny_solver(folder)); }), ExitCode::kIo);
    SnapshotLock other(folder / "other");
  }
  const std::vector<std::string> left = {"tiny_iter_3.caffemodel.tmp.123", "tiny_iter_3_ema.caffemodel.tmp.123",
                                         "tiny_iter_3.solverstate.h5.tmp.123.0", "tiny_best.caffemodel.tmp.123",
                                         "tiny_best.caffemodel.h5.tmp.123"};
  for (const std::string& name : left) write_file_atomically(folder / name, "half");
  train(tiny_solver(folder));
  for (const std::string& name : left) EXPECT_FALSE(file_exists(folder / name)) << name;
  EXPECT_FALSE(file_exists(folder / ".tiny.lock"));
}

TEST(Snapshot, TrainingsThatShareAPrefixLockItWithTheFirstSnapshot) {
  using Holder = SnapshotLock::Holder;
  Folder folder;
  SolverOptions shares;
  shares.shares_prefix = true;
  Context context(1);
  Solver one = Solver(make_solver(tiny_solver(folder), shares, context)),
         other = Solver(make_solver(tiny_solver(folder), shares, context));
  EXPECT_FALSE(file_exists(folder / ".tiny.lock"));
  one.snapshot();
  EXPECT_EQ(exit_code_of([&] { SnapshotLock(folder / "tiny"); }), ExitCode::kIo);
  other.step(2);
  other.snapshot();
  {
    const SnapshotLock same(folder / "./tiny", Holder::kProcess);
    EXPECT_EQ(exit_code_of([&] { SnapshotLock(folder / "tiny"); }), ExitCode::kIo);
  }
  EXPECT_TRUE(file_exists(folder / "tiny_iter_2.caffemodel"));
}

TEST(Snapshot, MakesItsFolderOrSaysAtOnceThatItCannot) {
  Folder folder;
  train(tiny_solver(folder, "snapshot_prefix: \"" + folder / "a/b/c" + "\""));
  EXPECT_TRUE(file_exists(folder / "a/b/c_iter_12.solverstate"));
  write_file_atomically(folder / "file", "");
  const SolverFile blocked = tiny_solver(folder, "snapshot_prefix: \"" + folder / "file/c" + "\"");
  Context context(1);
  EXPECT_EQ(exit_code_of([&] { make_solver(blocked, {}, context); }), ExitCode::kIo);
}

/// Files over this size cannot be written while one of these lives, as if the disk were full.
struct SmallDisk {
  rlimit before{};
  explicit SmallDisk(rlim_t most) {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    rlimit small = before;
    small.rlim_cur = most;
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallDisk() { setrlimit(RLIMIT_FSIZE, &before); }
};

TEST(Snapshot, FullDiskEndsTheRunOnlyAtItsEnd) {
  Folder folder;
  std::optional<SmallDisk> disk;
  int64_t reached = 0;
  AfterIteration fill([&](const Progress& progress) {
    reached = progress.iter;
    if (progress.iter == 8) disk.emplace(100);
  });
  Context context(1);
  Solver solver = make_solver(tiny_solver(folder, "snapshot: 4"), {}, context);
  solver.add_observer(&fill);
  Requests requests{kRequestNothing};
  const ExitCode code = exit_code_of([&] { solver.run(requests); });
  disk.reset();
  EXPECT_EQ(code, ExitCode::kIo);
  EXPECT_EQ(reached, 12);
  EXPECT_EQ(newest(folder), 4);
}

TEST(Snapshot, FullDiskIsForgivenWhenALaterOneIsWritten) {
  Folder folder;
  std::optional<SmallDisk> disk;
  AfterIteration fill([&](const Progress& progress) {
    if (progress.iter == 8) disk.emplace(100);
    if (progress.iter == 9) disk.reset();
  });
  Context context(1);
  Solver solver = make_solver(tiny_solver(folder, "snapshot: 4"), {}, context);
  solver.add_observer(&fill);
  Requests requests{kRequestNothing};
  EXPECT_EQ(solver.run(requests), Outcome::kFinished);
  EXPECT_EQ(newest(folder), 12);
  EXPECT_FALSE(file_exists(folder / "tiny_iter_8.solverstate"));
}

}  // namespace
}  // namespace cortado
