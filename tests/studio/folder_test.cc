// Paths of requests: those that lead out of the studio's folder are refused in any spelling.

#include "studio/folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/error.h"
#include "core/files/file.h"
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
  }
  for (const std::string path : {"../outside/file", "in/../../outside/file", "/etc/passwd", "..", "/"})
    EXPECT_EQ(refusal([&] { folder_->has(path); }), Refusal::kForbidden) << path;
  for (const std::string path : {"link", "in/away/file", "in/away", "in/file/none"})
    EXPECT_FALSE(folder_->has(path)) << path;
  EXPECT_EQ(refusal([&] { folder_->at("in/away/new"); }), Refusal::kForbidden);
}

TEST_F(FolderTest, links_are_not_listed) {
  std::vector<std::string> names;
  for (const Entry& entry : folder_->list("in")) names.push_back(entry.name);
  EXPECT_EQ(names, (std::vector<std::string>{"deep", "file"}));
  ASSERT_EQ(folder_->list("").size(), 1);
  EXPECT_TRUE(folder_->list("")[0].is_folder);
}

TEST_F(FolderTest, odd_entries_are_named) {
  ASSERT_EQ(::mkfifo((home_ / "in/pipe").c_str(), 0666), 0);
  using Odd = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(folder_->odd_entries("in"), (Odd{{"away", "a link"}, {"pipe", "a pipe"}}));
  EXPECT_FALSE(folder_->has_file("in/pipe"));
  EXPECT_FALSE(folder_->has_file("in/deep"));
  EXPECT_TRUE(folder_->has_file("in/file"));
  EXPECT_TRUE(folder_->list_if_readable("in/away").empty());
}

TEST_F(FolderTest, large_files_are_refused) {
  EXPECT_EQ(refusal([&] { folder_->read("in/file", 5); }), Refusal::kTooLarge);
  EXPECT_EQ(refusal([&] { folder_->read("in", 5); }), Refusal::kInvalid);
  EXPECT_EQ(refusal([&] { folder_->at(std::string(2000, 'x')); }), Refusal::kInvalid);
  EXPECT_EQ(refusal([&] { folder_->at(std::string("a\0b", 3)); }), Refusal::kInvalid);
}

TEST_F(FolderTest, changes_do_not_lead_out) {
  for (const std::string path : {"../outside/new", "in/away/new", "/tmp/new", "link/new"}) {
    EXPECT_EQ(refusal([&] { folder_->write_new(path, "x"); }), Refusal::kForbidden) << path;
    EXPECT_EQ(refusal([&] { folder_->move("in/file", path); }), Refusal::kForbidden) << path;
    EXPECT_EQ(refusal([&] { folder_->remove(path); }), Refusal::kForbidden) << path;
  }
  EXPECT_EQ(refusal([&] { folder_->write_new("link", "x"); }), Refusal::kForbidden);
  EXPECT_EQ(refusal([&] { folder_->replace("link", "x", digest_of("outside")); }), Refusal::kForbidden);
  EXPECT_EQ(refusal([&] { folder_->move("link", "other"); }), Refusal::kForbidden);
  EXPECT_EQ(refusal([&] { folder_->move("in/away/file", "other"); }), Refusal::kForbidden);
  for (const std::string path : {"", ".", "./"}) {
    EXPECT_EQ(refusal([&] { folder_->remove(path); }), Refusal::kInvalid) << path;
    EXPECT_EQ(refusal([&] { folder_->move(path, "other"); }), Refusal::kInvalid) << path;
  }
  EXPECT_EQ(Folder(outside_.string()).read("file", 100), "outside");
  EXPECT_EQ(Folder(outside_.string()).list("").size(), 1);
}

TEST_F(FolderTest, nothing_is_overwritten) {
  folder_->write_new("in/new", "first");
  EXPECT_EQ(refusal([&] { folder_->write_new("in/new", "second"); }), Refusal::kConflict);
  EXPECT_EQ(refusal([&] { folder_->write_new("in/deep", "second"); }), Refusal::kConflict);
  EXPECT_EQ(refusal([&] { folder_->move("in/file", "in/new"); }), Refusal::kConflict);
  EXPECT_EQ(refusal([&] { folder_->move("in/file", "in/deep"); }), Refusal::kConflict);
  EXPECT_EQ(folder_->read("in/new", 100), "first");
  EXPECT_EQ(refusal([&] { folder_->replace("in/new", "third", digest_of("other")); }), Refusal::kConflict);
  folder_->replace("in/new", "third", digest_of("first"));
  EXPECT_EQ(folder_->read("in/new", 100), "third");
  EXPECT_EQ(std::distance(fs::directory_iterator(home_ / "in"), {}), 4) << "a temporary file is left";
  EXPECT_EQ(refusal([&] { folder_->move("in", "in/deep/in"); }), Refusal::kInvalid);
}

/// Of two saves of the same text one is accepted, within a studio and of two studios.
TEST_F(FolderTest, one_of_two_replacements_is_accepted) {
  Folder other(home_.string());
  for (int round = 0; round < 200; ++round) {
    const std::string before = folder_->read("in/file", 100),
                      texts[] = {"a" + std::to_string(round), "b" + std::to_string(round)};
    std::optional<Refusal> refused[2];
    const auto save = [&](Folder& folder, int i) {
      refused[i] = refusal([&] { folder.replace("in/file", texts[i], digest_of(before)); });
    };
    std::thread second([&] { save(round % 2 == 0 ? other : *folder_, 1); });
    save(*folder_, 0);
    second.join();
    ASSERT_NE(refused[0].has_value(), refused[1].has_value()) << round;
    EXPECT_EQ(refused[0].value_or(*refused[refused[0] ? 0 : 1]), Refusal::kConflict);
    EXPECT_EQ(folder_->read("in/file", 100), texts[refused[0] ? 1 : 0]);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(home_ / ".studio/new"), {}), 0);
}

TEST_F(FolderTest, hidden_files_of_killed_studios_are_removed) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  folder_->write_new("in/new", "new");
  const fs::path left = home_ / ".studio/new" / (".studio." + std::to_string(child) + ".1");
  std::ofstream(left) << "left";
  folder_->remove_left();
  EXPECT_FALSE(fs::exists(left));
}

TEST_F(FolderTest, removing_does_not_follow_links) {
  folder_->remove("in");
  EXPECT_FALSE(fs::exists(home_ / "in"));
  EXPECT_EQ(Folder(outside_.string()).read("file", 100), "outside");
  EXPECT_EQ(refusal([&] { folder_->remove("in"); }), Refusal::kNotFound);
}

/// A folder that is replaced by a link again and again while files are written below it: none arrives at the target.
TEST_F(FolderTest, a_link_that_appears_meanwhile_is_not_followed) {
  fs::create_directories(home_ / "in/swapped");
  std::atomic<bool> ends = false;
  std::thread swapping([&] {
    const std::string folder = home_ / "in/swapped", link = home_ / "in/away";
    while (!ends) ::renameat2(AT_FDCWD, folder.c_str(), AT_FDCWD, link.c_str(), RENAME_EXCHANGE);
  });
  for (int i = 0; i < 2000; ++i) {
    const std::string path = "in/swapped/" + std::to_string(i);
    try {
      folder_->make(path);
      folder_->write_new(path + "/x", "x");
      folder_->remove(path);
    } catch (const http::RequestError&) {  // it was a link at that moment
    }
  }
  ends = true;
  swapping.join();
  EXPECT_EQ(std::distance(fs::directory_iterator(outside_), {}), 1);
}

TEST_F(FolderTest, entries_are_counted) {
  EXPECT_EQ(folder_->count("in", 100), 2) << "without links";
  EXPECT_EQ(folder_->count("in", 1), 1);
  EXPECT_EQ(folder_->count("in/deep", 100), 0);
}

TEST_F(FolderTest, file_names) {
  for (const std::string name : {"a b.jpg", "größe (1).PNG", "日本.jpg", "\xf0\x9f\x8c\xb9.png", "x"})
    EXPECT_EQ(checked_file_name(name), name);
  for (const std::string name : {"", ".x", "-x", " x", "x ", "a/b", "a\\b", "a\"b", "a,b", "a\nb", "\x7f", "\xff",
                                 "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe6\x97"})
    EXPECT_EQ(refusal([&] { checked_file_name(name); }), Refusal::kInvalid) << name;
  EXPECT_EQ(refusal([&] { checked_file_name(std::string(201, 'x')); }), Refusal::kInvalid);
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
