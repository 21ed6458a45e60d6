// Paths of requests: those that lead out of the studio's folder are refused in any spelling.

#include "studio/folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "http/request_error.h"

namespace cortado::studio {
namespace {

namespace fs = std::filesystem;
using http::Refusal;

class FolderTest : public testing::Test {
 protected:
  FolderTest() {
    fs::create_directories(home_ / "in/deep");
    fs::create_directories(outside_);
    std::ofstream(home_ / "in/file") << "inside";
    std::ofstream(outside_ / "file") << "outside";
    fs::create_symlink(outside_ / "file", home_ / "link");
    fs::create_directory_symlink(outside_, home_ / "in/away");
    folder_.emplace(home_.string());
  }
  ~FolderTest() override { fs::remove_all(base_); }

  template <typename Act>
  static std::optional<Refusal> refusal(const Act& act) {
    try {
      act();
    } catch (const http::RequestError& error) {
      return error.why();
    }
    return {};
  }

  const fs::path base_ = fs::temp_directory_path() / ("studio_folder_" + std::to_string(::getpid())),
                 home_ = base_ / "home", outside_ = base_ / "outside";
  std::optional<Folder> folder_;
};

TEST_F(FolderTest, files_inside_are_read) {
  EXPECT_EQ(folder_->read("in/file", 100), "inside");
  EXPECT_EQ(folder_->read("./in//file", 100), "inside");
  EXPECT_EQ(folder_->read_part("in/file", 2, 3), "sid");
  EXPECT_EQ(folder_->at("in/new/file"), (fs::canonical(home_) / "in/new/file").string());
  EXPECT_TRUE(folder_->has("in/deep"));
  EXPECT_FALSE(folder_->has("in/none"));
  EXPECT_TRUE(folder_->has(""));
}

TEST_F(FolderTest, paths_that_lead_out_are_refused) {
  for (const std::string path :
       {"../outside/file", "in/../../outside/file", "/etc/passwd", "link", "in/away/file", "in/away", "..", "/"}) {
    EXPECT_EQ(refusal([&] { folder_->read(path, 100); }), Refusal::kForbidden) << path;
    EXPECT_EQ(refusal([&] { folder_->at(path); }), Refusal::kForbidden) << path;
    EXPECT_EQ(refusal([&] { folder_->list(path); }), Refusal::kForbidden) << path;
    EXPECT_EQ(refusal([&] { folder_->make(path); }), Refusal::kForbidden) << path;
    EXPECT_EQ(refusal([&] { folder_->has(path); }), Refusal::kForbidden) << path;
  }
  EXPECT_EQ(refusal([&] { folder_->at("in/away/new"); }), Refusal::kForbidden);
}

TEST_F(FolderTest, links_are_not_listed) {
  std::vector<std::string> names;
  for (const Entry& entry : folder_->list("in")) names.push_back(entry.name);
  EXPECT_EQ(names, (std::vector<std::string>{"deep", "file"}));
  ASSERT_EQ(folder_->list("").size(), 1);
  EXPECT_TRUE(folder_->list("")[0].is_folder);
}

TEST_F(FolderTest, large_files_are_refused) {
  EXPECT_EQ(refusal([&] { folder_->read("in/file", 5); }), Refusal::kTooLarge);
  EXPECT_EQ(refusal([&] { folder_->read("in", 5); }), Refusal::kInvalid);
  EXPECT_EQ(refusal([&] { folder_->at(std::string(2000, 'x')); }), Refusal::kInvalid);
  EXPECT_EQ(refusal([&] { folder_->at(std::string("a\0b", 3)); }), Refusal::kInvalid);
}

TEST_F(FolderTest, invalid_names_are_refused) {
  EXPECT_EQ(checked_name("a_B-3.x"), "a_B-3.x");
  for (const std::string name : {"", ".x", "-x", "a/b", "a b", "a,b", "a\nb", "ä"})
    EXPECT_EQ(refusal([&] { checked_name(name); }), Refusal::kInvalid) << name;
  EXPECT_EQ(refusal([&] { checked_name(std::string(65, 'x')); }), Refusal::kInvalid);
}

TEST_F(FolderTest, a_missing_folder_is_an_error) {
  EXPECT_THROW(Folder((home_ / "none").string()), Error);
  EXPECT_THROW(Folder((home_ / "in/file").string()), Error);
}

}  // namespace
}  // namespace cortado::studio
