#include "tools/runs/tensorboard/record_file.h"

#include "core/error.h"
#include "core/files/crc.h"
#include "tests/solvers/training.h"

namespace cortado::runs {
namespace {

/// The values of RFC 3720.
TEST(Crc32c, MatchesRfc3720) {
  EXPECT_EQ(crc32c_of(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(crc32c_of(std::string(32, '\xff')), 0x62A8AB43u);
  EXPECT_EQ(crc32c_of("123456789"), 0xE3069283u);
  EXPECT_EQ(crc32c_of(""), 0u);
}

TEST(RecordFile, IsReadUpToATornRecord) {
  Folder folder;
  const std::string path = folder / "events";
  {
    RecordFile file(path);
    EXPECT_TRUE(file.append("one"));
    EXPECT_TRUE(file.append(""));
    EXPECT_TRUE(file.append(std::string(100000, 'x')));
  }
  const std::string content = read_file(path);
  const std::vector<std::string> all = {"one", "", std::string(100000, 'x')};
  EXPECT_EQ(records_in(content), all);
  for (size_t cut = 0; cut < 40; ++cut)
    EXPECT_EQ(records_in(content.substr(0, cut)).size(), size_t(cut >= 19) + size_t(cut >= 35)) << cut;
  for (const size_t at : {size_t(0), size_t(9), size_t(13), size_t(17)}) {
    std::string wrong = content;
    wrong[at] = char(wrong[at] ^ 4);
    EXPECT_TRUE(records_in(wrong).empty()) << "byte " << at;
  }
}

TEST(RecordFile, ReplacesNothing) {
  Folder folder;
  const RecordFile file(folder / "events");
  EXPECT_THROW(RecordFile(folder / "events"), Error);
  EXPECT_THROW(RecordFile(folder / "nowhere/events"), Error);
}

}  // namespace
}  // namespace cortado::runs
