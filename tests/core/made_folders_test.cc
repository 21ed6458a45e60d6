#include "core/files/made_folders.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "core/files/file.h"

namespace cortado {
namespace {

class MadeFoldersTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(root_); }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::optional<MadeFolders> made_;
  std::error_code failure_;
  const std::string root_ = testing::TempDir() + "made_folders_" + std::to_string(::getpid());
};

TEST_F(MadeFoldersTest, AreRemovedIfEmpty) {
  made_.emplace(root_ + "/a/b//c/", failure_);
  EXPECT_TRUE(made_->any() && file_exists(root_ + "/a/b/c"));
  made_.reset();
  EXPECT_FALSE(file_exists(root_ + "/a"));
  EXPECT_TRUE(file_exists(root_));
}

TEST_F(MadeFoldersTest, StayIfTheyHaveFiles) {
  made_.emplace(root_ + "/a/b/c", failure_);
  write_file_atomically(root_ + "/a/b/file", "");
  made_.reset();
  EXPECT_TRUE(file_exists(root_ + "/a/b/file"));
  EXPECT_FALSE(file_exists(root_ + "/a/b/c"));
}

TEST_F(MadeFoldersTest, AreNoneIfAllExisted) {
  std::filesystem::create_directories(root_ + "/a/b");
  made_.emplace(root_ + "/a/b", failure_);
  EXPECT_FALSE(made_->any() || failure_);
  made_.reset();
  EXPECT_TRUE(file_exists(root_ + "/a/b"));
}

TEST_F(MadeFoldersTest, AreRemovedAfterAFailure) {
  write_file_atomically(root_ + "/file", "");
  made_.emplace(root_ + "/file/b", failure_);
  EXPECT_TRUE(failure_);
  made_.reset();
  EXPECT_TRUE(file_exists(root_ + "/file"));
}

}  // namespace
}  // namespace cortado
