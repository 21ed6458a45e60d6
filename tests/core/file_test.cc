#include "core/files/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "core/error.h"
#include "core/files/mapped_file.h"
#include "core/process/process_limits.h"
#include "core/process/sanitized.h"

namespace cortado {
namespace {

namespace fs = std::filesystem;

ExitCode code_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  return ExitCode::kOk;
}

class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "cortado_file_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  size_t files() const { return size_t(std::distance(fs::directory_iterator(folder_), fs::directory_iterator())); }

  std::string folder_;
};

TEST_F(FileTest, ReadsWhatWasWritten) {
  std::string content(300'000, '\0');
  for (size_t i = 0; i < content.size(); ++i) content[i] = char(i * 131 >> 3);
  write_file_atomically(path("a"), content);
  EXPECT_EQ(read_file(path("a")), content);
  write_file_atomically(path("a"), "short");
  EXPECT_EQ(read_file(path("a")), "short");
  write_file_atomically(path("a"), "");
  EXPECT_EQ(read_file(path("a")), "");
  EXPECT_EQ(files(), 1u) << "a temporary file was left";
}

TEST_F(FileTest, ReadErrorsHaveThePathAndTheReason) {
  try {
    read_file(path("missing"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kIo);
    EXPECT_NE(std::string(error.what()).find(path("missing")), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("No such file"), std::string::npos);
  }
  EXPECT_EQ(code_of([&] { read_file(folder_); }), ExitCode::kIo) << "a folder";
}

TEST_F(FileTest, PipesAreReadOnlyOnRequest) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  try {  // without a writer, this would block forever
    read_file(path("pipe"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kIo);
    EXPECT_NE(std::string(error.what()).find("this is a pipe, not a regular file"), std::string::npos) << error.what();
  }
  EXPECT_EQ(code_of([&] { MappedFile map(path("pipe")); }), ExitCode::kIo);
  EXPECT_EQ(code_of([&] { MappedFile map(folder_); }), ExitCode::kIo);
  const pid_t writer = ::fork();
  if (writer == 0) {
    const int fd = ::open(path("pipe").c_str(), O_WRONLY);
    ::_exit(::write(fd, "text", 4) == 4 ? 0 : 1);
  }
  EXPECT_EQ(read_file_or_pipe(path("pipe")), "text");
  ::waitpid(writer, nullptr, 0);
}

TEST_F(FileTest, MapsAndGuardsManyFiles) {
  guard_mapped_files();
  rlimit most;
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &most), 0);
  if (most.rlim_max < 1000) GTEST_SKIP() << "the limit of open files is " << most.rlim_max;
  allow_many_files();
  std::vector<std::unique_ptr<MappedFile>> maps;
  for (int i = 0; i < 600; ++i) {
    const std::string file = path(std::to_string(i));
    write_file_atomically(file, std::string(8192, 'x'));
    maps.push_back(std::make_unique<MappedFile>(file));
  }
  fs::resize_file(path("599"), 0);
  EXPECT_EQ(maps[599]->data()[5000], 0) << "a lost page reads as zeros";
  EXPECT_TRUE(maps[599]->damaged());
  EXPECT_EQ(maps[300]->data()[5000], 'x');
  EXPECT_FALSE(maps[300]->damaged());
  maps.clear();
  EXPECT_EQ(MappedFile(path("300")).size(), 8192);
}

TEST_F(FileTest, TooManyOpenFilesReportsTheLimit) {
  if (kSanitized) GTEST_SKIP() << "UndefinedBehaviorSanitizer opens a pipe to check an object's type";
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  write_file_atomically(path("a"), "x");
  rlimit none = before;
  none.rlim_cur = 3;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  std::string told;
  try {
    const MappedFile map(path("a"));
  } catch (const Error& error) {
    told = error.what();
  }
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_NE(told.find("the limit is 3 (`ulimit -n`)"), std::string::npos) << told;
}

TEST_F(FileTest, ReadingStopsAtTheLimit) {
  write_file_atomically(path("a"), "12345");
  EXPECT_EQ(read_file(path("a"), 5), "12345");
  EXPECT_EQ(code_of([&] { read_file(path("a"), 4); }), ExitCode::kIo);
  EXPECT_EQ(code_of([&] { read_file("/dev/zero"); }), ExitCode::kIo) << "not a file";
  EXPECT_EQ(code_of([&] { read_file_or_pipe("/dev/zero", 1000); }), ExitCode::kIo);
}

TEST_F(FileTest, ReplacingKeepsThePermissions) {
  write_file_atomically(path("a"), "1");
  fs::permissions(path("a"), fs::perms::owner_read | fs::perms::owner_write);
  write_file_atomically(path("a"), "2");
  EXPECT_EQ(fs::status(path("a")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(FileTest, ALinkAtTheTemporaryPathIsNotFollowed) {
  write_file_atomically(path("other"), "somebody's");
  fs::create_symlink("other", temporary_beside(path("file")));
  write_file_atomically(path("file"), "mine");
  EXPECT_EQ(read_file(path("other")), "somebody's");
  EXPECT_EQ(read_file(path("file")), "mine");
  EXPECT_FALSE(fs::is_symlink(path("file")));
}

TEST_F(FileTest, FoldersAndMissingFoldersAreErrors) {
  EXPECT_EQ(code_of([&] { write_file_atomically(folder_, "x"); }), ExitCode::kIo);
  EXPECT_EQ(code_of([&] { write_file_atomically(path("none/a"), "x"); }), ExitCode::kIo);
  EXPECT_EQ(files(), 0u);
}

TEST_F(FileTest, DevicesAreWrittenAndNotReplaced) {
  EXPECT_EQ(code_of([] { write_file_atomically("/dev/null", "x"); }), ExitCode::kOk);
  EXPECT_EQ(code_of([] { write_file_atomically("/dev/full", "x"); }), ExitCode::kIo);
  struct stat info;
  ASSERT_EQ(::stat("/dev/null", &info), 0);
  EXPECT_TRUE(S_ISCHR(info.st_mode));
  EXPECT_FALSE(file_exists("/dev/full.tmp." + std::to_string(::getpid())));
}

// A file size limit simulates a full disk without mounting: the write fails the same way.
TEST_F(FileTest, AFailedWriteKeepsTheOldContent) {
  write_file_atomically(path("a"), "old");
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{64 << 10, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const ExitCode code = code_of([&] { write_file_atomically(path("a"), std::string(100 << 10, 'n')); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(code, ExitCode::kIo);
  EXPECT_EQ(read_file(path("a")), "old");
  EXPECT_EQ(files(), 1u);
}

// A disk of which any number of bytes is used: the file has either the complete new content, or the old one and an
// error is thrown.
TEST_F(FileTest, AFullDiskNeverLeavesPartialContent) {
  const std::string disk = path("disk");
  fs::create_directory(disk);
  if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=64k") != 0) GTEST_SKIP() << "cannot mount a file system here";
  int written = 0, refused = 0;
  for (size_t size = 1000; size < 80'000; size += 997) {
    write_file_atomically(disk + "/a", "old");
    const std::string content(size, 'n');
    const ExitCode code = code_of([&] { write_file_atomically(disk + "/a", content); });
    EXPECT_EQ(read_file(disk + "/a"), code == ExitCode::kOk ? content : "old") << size;
    code == ExitCode::kOk ? ++written : ++refused;
  }
  ::umount(disk.c_str());
  EXPECT_GT(written, 0);
  EXPECT_GT(refused, 0);
}

// Readers see the old or the new content, never a part, while a process that replaces the file is killed.
TEST_F(FileTest, AKilledWriterLeavesACompleteFile) {
  const std::string contents[2] = {std::string(1 << 20, 'a'), std::string(1 << 20, 'b')};
  write_file_atomically(path("a"), contents[0]);
  for (int kill_after = 0; kill_after < 20; ++kill_after) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (int i = 0;; ++i) write_file_atomically(path("a"), contents[i % 2]);
    }
    ::usleep(useconds_t(500 + 700 * kill_after));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const std::string now = read_file(path("a"));
    EXPECT_TRUE(now == contents[0] || now == contents[1]);
  }
}

// The check values of both polynomials for "123456789": CRC-32 cbf43926, Adler-32 091e01de.
TEST(Digest, IsTheLengthAndBothChecksums) {
  EXPECT_EQ(digest_of("123456789"), "0000000000000009cbf43926091e01de");
  EXPECT_EQ(digest_of(""), "00000000000000000000000000000001");
}

TEST(Digest, DetectsEveryBit) {
  std::string content(2000, 'x');
  const std::string whole = digest_of(content);
  for (size_t bit = 0; bit < content.size() * 8; ++bit) {
    content[bit / 8] ^= char(1 << bit % 8);
    EXPECT_NE(digest_of(content), whole) << bit;
    content[bit / 8] ^= char(1 << bit % 8);
  }
}

TEST(Paths, JoinAndSplit) {
  EXPECT_EQ(join_path("a", "b"), "a/b");
  EXPECT_EQ(join_path("a/", "b"), "a/b");
  EXPECT_EQ(join_path("", "b"), "b");
  EXPECT_EQ(join_path("a", "/b"), "/b");
  EXPECT_EQ(join_path("a", "../b"), "a/../b");
  EXPECT_EQ(folder_of("a/b/c"), "a/b");
  EXPECT_EQ(folder_of("c"), "");
  EXPECT_EQ(folder_of("/c"), "/");
  EXPECT_EQ(file_name_of("a/b"), "b");
  EXPECT_EQ(file_name_of("a/"), "");
}

}  // namespace
}  // namespace cortado
