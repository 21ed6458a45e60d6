#include "tools/runs/run_finder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "core/error.h"
#include "core/files/file.h"
#include "core/files/temporary_folder.h"
#include "tools/runs/files_in_use.h"
#include "tools/runs/metrics_file.h"
#include "tools/runs/run_file.h"
#include "tools/runs/run_folder.h"
#include "tools/runs/run_list.h"
#include "tools/runs/run_record.h"

namespace cortado::runs {
namespace {

namespace fs = std::filesystem;

std::string made(const TemporaryFolder& place, const std::string& name) {
  fs::create_directories(place.path(name));
  return place.path(name);
}

/// The folder of a run with this input; paths are relative to `place`.
std::string made_run(const TemporaryFolder& place, const std::string& name, const std::string& input = {}) {
  RunRecord record;
  record.folder = place.path();
  record.solver = "solver.prototxt";
  if (!input.empty()) record.inputs.push_back({input, "data", 0, ""});
  const std::string folder = made(place, name);
  write_record(RunPaths(folder).record, record);
  return folder;
}

/// Makes the folder old, so that the finder trusts what it knows of it.
void settle(const std::string& folder) {
  const timespec before[2] = {{1'600'000'000, 0}, {1'600'000'000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, folder.c_str(), before, 0), 0);
}

TEST(RunFinder, FindsRunsAtAnyDepthAndAfterChanges) {
  const TemporaryFolder place("cortado-runs");
  std::set<std::string> runs = {made_run(place, "a"), made_run(place, "b/c/d/e/f/g/h/i")};
  for (int i = 0; i < 600; ++i) {
    runs.insert(made(place, "many/" + std::to_string(i)));
    std::ofstream(place.path("many/" + std::to_string(i) + "/run.json")) << "{}";
  }
  made_run(place, "a/within");
  made_run(place, ".hidden/run");
  fs::create_directory_symlink(place.path("a"), place.path("link"));
  RunFinder finder;
  const auto found = [&] {
    const std::vector<std::string> all = finder.find(place.path());
    return std::set<std::string>(all.begin(), all.end());
  };
  EXPECT_EQ(found(), runs);
  for (const auto& entry : fs::recursive_directory_iterator(place.path()))
    if (entry.is_directory() && !entry.is_symlink()) settle(entry.path().string());
  settle(place.path());
  EXPECT_EQ(found(), runs);
  EXPECT_EQ(found(), runs) << "from memory";
  runs.insert(made_run(place, "b/c/late"));
  EXPECT_EQ(found(), runs);
  fs::remove_all(place.path("a"));
  runs.erase(place.path("a"));
  EXPECT_EQ(found(), runs);
  EXPECT_EQ(finder.find(place.path("b/c/late")), std::vector{place.path("b/c/late")});
}

TEST(RunFinder, NamesUnreadableFolders) {
  if (::geteuid() == 0) GTEST_SKIP() << "root reads every folder";
  const TemporaryFolder place("cortado-runs");
  const std::string run = made_run(place, "a"), odd = made(place, "lost+found");
  fs::permissions(odd, fs::perms::none);
  RunFinder finder;
  EXPECT_EQ(finder.find(place.path()), std::vector{run});
  EXPECT_EQ(finder.unreadable(), std::vector{odd});
  fs::permissions(odd, fs::perms::owner_all);
}

TEST(FilesInUse, AreThoseOfRunningTrainingsHoweverTheirPathsAreSpelled) {
  const TemporaryFolder place("cortado-runs");
  made(place, "data/d/train_lmdb");
  write_file_atomically(place.path("data/d/train_lmdb/data.mdb"), "x");
  write_file_atomically(place.path("data/other"), "x");
  write_file_atomically(place.path("solver.prototxt"), "x");
  fs::create_hard_link(place.path("solver.prototxt"), place.path("same.prototxt"));
  fs::create_directory_symlink(place.path("data/d"), place.path("link"));
  const std::string run = made_run(place, "r/s/t/u/v", "r/../link/train_lmdb"),
                    ended = made_run(place, "ended", "data/other");
  const RunLock lock{RunPaths(run)};
  const FilesInUse used({run, ended});
  for (const char* path : {"r/s/t/u/v", "r/s/t/u/v/run.json", "r/s", "r", "data", "data/d", "data/d/train_lmdb",
                           "data/d/train_lmdb/data.mdb", "link/train_lmdb", "solver.prototxt", "same.prototxt", "."})
    EXPECT_EQ(used.user_of(place.path(path)), run) << path;
  for (const char* path : {"data/other", "ended", "ended/run.json", "none"})
    EXPECT_EQ(used.user_of(place.path(path)), "") << path;
}

/// A file of a run in the forms that others give it. "" removes it.
void put(const std::string& path, const std::string& kind, const std::string& victim) {
  fs::remove_all(path);
  if (kind == "link") fs::create_symlink(victim, path);
  if (kind == "dangling link") fs::create_symlink(victim + "-none", path);
  if (kind == "pipe") ::mkfifo(path.c_str(), 0666);
  if (kind == "folder") fs::create_directory(path);
  if (kind == "device") fs::create_symlink("/dev/zero", path);
}

TEST(RunFile, OnlyRegularFilesAreOpened) {
  const TemporaryFolder place("cortado-runs");
  const std::string victim = place.path("victim"), run = made_run(place, "r");
  write_file_atomically(victim, "keep me\n");
  const RunPaths paths(run);
  const auto refused = [](const auto& act) {
    try {
      act();
    } catch (const Error& error) {
      return error.code() == ExitCode::kIo;
    }
    return false;
  };
  for (const char* kind : {"link", "dangling link", "pipe", "folder", "device"}) {
    SCOPED_TRACE(kind);
    for (const std::string& path : {paths.lock, paths.log, paths.metrics, paths.layers, paths.report, paths.solver}) {
      SCOPED_TRACE(path);
      put(path, kind, victim);
      EXPECT_FALSE(has_run_file(path));
      EXPECT_TRUE(refused([&] { open_run_file(path, O_RDONLY); }));
      EXPECT_TRUE(refused([&] { open_run_file(path, O_RDWR | O_CREAT | O_APPEND); }));
      EXPECT_TRUE(refused([&] { read_run_file(path); }));
      EXPECT_TRUE(refused([&] { write_run_file(path, "new"); }));
      fs::remove_all(path);
    }
    put(paths.lock, kind, victim);
    EXPECT_EQ(training_process(paths), 0);
    EXPECT_TRUE(refused([&] { const RunLock lock(paths); }));
    fs::remove_all(paths.lock);
    put(paths.log, kind, victim);
    EXPECT_TRUE(refused([&] { const RunLog log(paths); }));
    fs::remove_all(paths.log);
    put(paths.metrics, kind, victim);
    EXPECT_TRUE(refused([&] { read_metrics(paths.metrics); }));
    EXPECT_TRUE(refused([&] { read_run(run); }));
    EXPECT_TRUE(list_runs(place.path()).empty());
    fs::remove_all(paths.metrics);
    EXPECT_EQ(list_runs(place.path()).size(), 1u);
  }
  EXPECT_EQ(read_file(victim), "keep me\n");
  EXPECT_FALSE(file_exists(victim + "-none"));
}

TEST(RunFile, ALinkIsNoRecord) {
  const TemporaryFolder place("cortado-runs");
  const std::string run = made_run(place, "r"), copy = made(place, "copy");
  fs::create_symlink(RunPaths(run).record, RunPaths(copy).record);
  EXPECT_TRUE(is_run(run));
  EXPECT_FALSE(is_run(copy));
}

}  // namespace
}  // namespace cortado::runs
