#include "core/forks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "core/files/file.h"
#include "core/files/made_folders.h"
#include "core/files/temporary_folder.h"
#include "core/process/process.h"
#include "core/process/sanitized.h"
#include "core/threads/threads.h"
#include "tests/harness/forked.h"

namespace cortado {
namespace {

bool loop_is_whole() {
  Context context(3);
  std::atomic<int64_t> sum = 0;
  for (int round = 0; round < 100; ++round)
    parallel_ranges(context, 1000, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
  return sum == 100'000;
}

TEST(Forks, AChildHasLoopsOfItsOwn) {
  if (kThreadSanitized) GTEST_SKIP() << "it does not start threads in a child of a process with threads";
  ASSERT_TRUE(loop_is_whole());
  EXPECT_EQ(status_in_child([] { return loop_is_whole() && status_in_child(loop_is_whole) == 0; }), 0);
  EXPECT_TRUE(loop_is_whole()) << "in the parent, afterwards";
}

TEST(Forks, AreCounted) {
  EXPECT_TRUE(MadeHere());
  const MadeHere before;
  EXPECT_EQ(status_in_child([&] { return !before && MadeHere(); }), 0);
  EXPECT_TRUE(before);
}

TEST(Forks, AChildLeavesWhatIsItsParents) {
  const TemporaryFolder outer("cortado-forks");
  std::error_code failure;
  auto temporary = std::make_unique<TemporaryFolder>("cortado-forks");
  auto made = std::make_unique<MadeFolders>(outer.path("made"), failure);
  auto file = std::make_unique<AtomicFile>(outer.path("file"), 10);
  auto process = std::make_unique<Process>(ProcessOptions{.words = {"/bin/sleep", "60"}});
  file->append("12345");
  EXPECT_EQ(status_in_child([&] {
              temporary.reset();
              made.reset();
              file.reset();
              process.reset();
              return true;
            }),
            0);
  EXPECT_TRUE(file_exists(temporary->path()));
  EXPECT_TRUE(file_exists(outer.path("made")));
  EXPECT_FALSE(process->end_if_any());
  file->append("67890");
  file->commit();
  EXPECT_EQ(read_file(outer.path("file")), "1234567890");
}

}  // namespace
}  // namespace cortado
