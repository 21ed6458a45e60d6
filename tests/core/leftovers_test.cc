#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "core/files/descriptor.h"
#include "core/files/file.h"
#include "core/files/made_folders.h"
#include "core/files/temporary_folder.h"

namespace cortado {
namespace {

/// The PID of an ended process.
std::string number_of_the_dead() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return std::to_string(child);
}

class Leftovers : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string put(const std::string& name) const {
    const Descriptor file(folder_ + name, O_WRONLY | O_CREAT, 0666);
    EXPECT_TRUE(file.ok());
    return folder_ + name;
  }

  const std::string dead_ = number_of_the_dead();
  const std::string folder_ = testing::TempDir() + "leftovers_" + std::to_string(::getpid()) + "_" + dead_ + "/";
};

TEST_F(Leftovers, OfEndedProcessesAreRemoved) {
  const std::string file = put("a.tmp." + dead_), second = put("a.tmp." + dead_ + ".3");
  std::filesystem::create_directories(folder_ + "a.tmp." + dead_ + ".4/inner");
  write_file_atomically(folder_ + "a", "whole");
  EXPECT_FALSE(file_exists(file) || file_exists(second) || file_exists(folder_ + "a.tmp." + dead_ + ".4"));
  EXPECT_EQ(read_file(folder_ + "a"), "whole");
}

TEST_F(Leftovers, OfRunningProcessesAndOtherFilesStay) {
  const std::string alive = std::to_string(::getppid());
  for (const std::string& name : {"a.tmp." + alive, "b.tmp." + dead_, "aa.tmp." + dead_, "a.tmp." + dead_ + "x",
                                  std::string("a.tmp."), "a.tmp.-" + dead_, "a.tmp." + dead_ + ".x", "a." + dead_})
    put(name);
  const auto count = [&] { return std::distance(std::filesystem::directory_iterator(folder_), {}); };
  const auto before = count();
  remove_leftovers(folder_ + "a");
  EXPECT_EQ(count(), before);
}

TEST_F(Leftovers, OfProcessesThatNobodyWaitedForAreRemoved) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t ended;
  ASSERT_EQ(::waitid(P_PID, id_t(child), &ended, WEXITED | WNOWAIT), 0);
  const std::string file = put("a.tmp." + std::to_string(child));
  remove_leftovers(folder_ + "a");
  EXPECT_FALSE(file_exists(file));
  ::waitpid(child, nullptr, 0);
}

/// The lock may belong to a process of another machine.
TEST_F(Leftovers, ThatAreLockedStay) {
  const std::string path = put("a.tmp." + dead_);
  const Descriptor file(path, O_RDWR);
  ASSERT_EQ(::flock(file.fd(), LOCK_EX | LOCK_NB), 0);
  remove_leftovers(folder_ + "a");
  EXPECT_TRUE(file_exists(path));
}

/// Files and folders whose names have no target, but a beginning of their own.
TEST_F(Leftovers, WithABeginningAreRemoved) {
  put(".new." + dead_ + ".1");
  std::filesystem::create_directories(folder_ + ".new." + dead_ + "-Xy/inner");
  const std::string locked = put(".new." + dead_ + ".2");
  const Descriptor lock = lock_if_free(locked);
  ASSERT_TRUE(lock.ok());
  EXPECT_FALSE(lock_if_free(locked).ok());
  const std::string own = put(".new." + std::to_string(::getpid()) + ".1");
  const std::vector<std::string> kept = {locked,
                                         put(".new." + std::to_string(::getppid()) + ".1"),
                                         put("new." + dead_ + ".1"),
                                         put(".new.x"),
                                         put(".new." + dead_ + "x.1"),
                                         put(".new.-" + dead_)};
  std::filesystem::create_symlink(put("target"), folder_ + ".new." + dead_ + ".3");
  remove_left_in(folder_, ".new.", false);
  EXPECT_TRUE(file_exists(own));
  remove_left_in(folder_, ".new.", true);
  EXPECT_FALSE(file_exists(own));
  for (const std::string& path : kept) EXPECT_TRUE(file_exists(path)) << path;
  EXPECT_EQ(size_t(std::distance(std::filesystem::directory_iterator(folder_), {})), kept.size() + 2);
}

TEST_F(Leftovers, TemporaryFoldersAreThoseOfEndedProcesses) {
  const std::string name = "leftovers" + dead_;
  const pid_t child = ::fork();
  if (child == 0) {
    const TemporaryFolder ended(name);
    ::_exit(0);  // without destructors
  }
  ::waitpid(child, nullptr, 0);
  const TemporaryFolder here(name);
  const auto count = [&] {
    int found = 0;
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::temp_directory_path()))
      found += entry.path().filename().string().starts_with(name + "-");
    return found;
  };
  EXPECT_EQ(count(), 2);
  TemporaryFolder::remove_left(name);
  EXPECT_EQ(count(), 1);
  EXPECT_TRUE(file_exists(here.path()));
}

TEST_F(Leftovers, ThatAreLinksStay) {
  const std::string target = put("target"), link = folder_ + "a.tmp." + dead_;
  std::filesystem::create_symlink(target, link);
  remove_leftovers(folder_ + "a");
  EXPECT_TRUE(file_exists(target) && file_exists(link));
}

}  // namespace
}  // namespace cortado
