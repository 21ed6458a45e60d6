// LevelDB 1.23 wrote tests/data/leveldb: 60 Datums of 1 x 8 x 8; record i has the key "%08d_x", the label i % 7 and
// pixels (3 i + row) % 256. It has two tables, compressed by Snappy, and a log: every fifth record was first written
// with another label, every ninth was deleted in the end.
#include "data/convert/leveldb.h"

#include "core/process/program_path.h"
#include "data/convert/convert.h"
#include "data/formats/datum.h"
#include "tests/data/fixtures.h"
#include "tests/harness/places.h"

namespace cortado::data::testing {

namespace {

const std::string kFolder = in_source("tests/data/leveldb");
const char* const kFiles[] = {"CURRENT", "MANIFEST-000006", "000005.ldb", "000007.ldb", "000008.log"};

Records read_all(const std::string& folder) {
  Leveldb database(folder);
  Records records;
  std::string_view key, value;
  std::string last;
  while (database.next(key, value)) {
    EXPECT_LT(last, key);
    last = key;
    records[last] = value;
  }
  return records;
}

Records expected_records() {
  Records records;
  for (int i = 0; i < 60; ++i) {
    if (i % 9 == 0) continue;
    std::string pixels;
    for (int p = 0; p < 64; ++p) pixels += char((3 * i + p / 8) % 256);
    records[(i < 10 ? "0000000" : "000000") + std::to_string(i) + "_x"] = make_datum(1, 8, 8, pixels, i % 7);
  }
  return records;
}

class LeveldbInSources : public ::testing::Test {
 protected:
  void SetUp() override {
    if (companion_path("cortado-leveldb").empty()) GTEST_SKIP() << "built without LevelDB";
  }
};

TEST_F(LeveldbInSources, ReadsWhatTheLibraryWrote) { EXPECT_EQ(read_all(kFolder), expected_records()); }

TEST_F(LeveldbInSources, ConvertsRecordsUnchanged) {
  const Folder folder;
  LeveldbOptions options;
  options.output = folder / "lmdb";
  options.folder = kFolder;
  const ConvertReport report = convert_leveldb(options);
  EXPECT_TRUE(report.kept);
  EXPECT_EQ(report.written, 53);
  EXPECT_EQ(report.per_label.size(), 7u);
  EXPECT_EQ(read_with_library(folder / "lmdb"), expected_records());
}

/// A copy of the database with `content` in the file `name`.
class Damaged {
 public:
  Damaged() {
    for (const char* name : kFiles) std::filesystem::copy_file(kFolder + "/" + name, folder_ / name);
  }
  const Folder& folder() const { return folder_; }

  /// Reads the copy, which must end in records or an Error. Returns the error's text, or "".
  std::string read_with(const std::string& name, const std::string& content) const {
    std::filesystem::remove(folder_ / name);  // an old file would be flushed
    write_file(folder_ / name, content);
    std::string text;
    try {
      EXPECT_LE(read_all(folder_ / "").size(), 60u);
    } catch (const Error& error) {
      text = error.what();
    }
    std::filesystem::remove(folder_ / name);
    std::filesystem::copy_file(kFolder + "/" + name, folder_ / name);
    return text;
  }

 private:
  const Folder folder_;
};

TEST_F(LeveldbInSources, WrongBytesAreHarmless) {
  const Damaged damaged;
  for (const std::string name : kFiles) {
    const std::string whole = read_file(kFolder + "/" + name);
    int found = 0, tried = 0;
    const size_t step = whole.size() < 200 ? 1 : 7;  // each starts a process
    for (size_t at = 0; at < whole.size(); at += step, ++tried) {
      std::string content = whole;
      content[at] = char(content[at] ^ (1 << at % 8));
      found += !damaged.read_with(name, content).empty();
    }
    // The padding of a table's footer is not read.
    EXPECT_GT(found, tried * 9 / 10) << name;
  }
}

TEST_F(LeveldbInSources, TruncatedFilesAreHarmless) {
  const Damaged damaged;
  for (const std::string name : kFiles) {
    const std::string whole = read_file(kFolder + "/" + name);
    for (size_t size = 0; size < whole.size(); size += 17) {
      const std::string text = damaged.read_with(name, whole.substr(0, size));
      if (!name.ends_with(".ldb")) continue;
      EXPECT_NE(text.find("damaged LevelDB: "), std::string::npos) << size << text;
    }
  }
}

TEST_F(LeveldbInSources, NamesAMissingFile) {
  const Damaged damaged;
  std::filesystem::remove(damaged.folder() / "000005.ldb");
  expect_error([&] { read_all(damaged.folder() / ""); }, ExitCode::kData, "000005.");
  std::filesystem::remove(damaged.folder() / "CURRENT");
  expect_error([&] { read_all(damaged.folder() / ""); }, ExitCode::kData, "not a LevelDB");
}

}  // namespace

}  // namespace cortado::data::testing
