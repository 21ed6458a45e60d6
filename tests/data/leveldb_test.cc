// tests/data/leveldb was written by the LevelDB library 1.23: 60 Datums of 1 x 8 x 8, record i (key "%08d_x") with the
// label i % 7 and pixels (3 i + row) % 256. It has two tables, packed by Snappy, and a log: every fifth record was
// first written with another label, every ninth was removed at last.
#include "data/convert/leveldb.h"

#include "data/convert/convert.h"
#include "data/convert/snappy.h"
#include "data/formats/datum.h"
#include "fixtures.h"
#include "tests/harness/places.h"

namespace cortado::data::testing {

namespace {

using namespace std::string_literals;

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

TEST(Leveldb, ReadsWhatTheLibraryWrote) { EXPECT_EQ(read_all(kFolder), expected_records()); }

TEST(Leveldb, ConvertsRecordsAsTheyAre) {
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

/// A copy of the database whose file `name` holds `content`.
class Damaged {
 public:
  Damaged() {
    for (const char* name : kFiles) std::filesystem::copy_file(kFolder + "/" + name, folder_ / name);
  }
  const Folder& folder() const { return folder_; }

  /// Reads it: nothing but records or an Error may come of it. Returns the error's text, or "".
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

TEST(Leveldb, NoByteThatIsWrongDoesHarm) {
  const Damaged damaged;
  for (const std::string name : kFiles) {
    const std::string whole = read_file(kFolder + "/" + name);
    int found = 0;
    for (size_t at = 0; at < whole.size(); ++at) {
      std::string content = whole;
      content[at] = char(content[at] ^ (1 << at % 8));
      found += !damaged.read_with(name, content).empty();
    }
    // Where a table's filters are is not read, nor what fills its footer, nor those filters.
    EXPECT_GT(found, name.ends_with(".ldb") ? int(whole.size()) * 8 / 10 : int(whole.size()) * 9 / 10) << name;
  }
}

TEST(Leveldb, NoFileThatIsCutOffDoesHarm) {
  const Damaged damaged;
  for (const std::string name : kFiles) {
    const std::string whole = read_file(kFolder + "/" + name);
    for (size_t size = 0; size < whole.size(); size += 7) {
      const std::string text = damaged.read_with(name, whole.substr(0, size));
      if (!name.ends_with(".ldb")) continue;
      EXPECT_NE(text.find("the table is cut off"), std::string::npos) << size << text;
    }
  }
}

TEST(Leveldb, SaysWhichFileIsMissing) {
  const Damaged damaged;
  std::filesystem::remove(damaged.folder() / "000005.ldb");
  expect_error(ExitCode::kIo, "000005.", [&] { read_all(damaged.folder() / ""); });
  std::filesystem::remove(damaged.folder() / "CURRENT");
  expect_error(ExitCode::kData, "not a LevelDB", [&] { read_all(damaged.folder() / ""); });
}

std::string unpacked(const std::string& packed) {
  std::string out = "left over";
  return unpack_snappy(packed, out) ? out : "damaged";
}

TEST(Snappy, UnpacksEveryKindOfElement) {
  EXPECT_EQ(unpacked("\0"s), "");
  EXPECT_EQ(unpacked("\x05\x10hello"s), "hello");
  EXPECT_EQ(unpacked("\x0a\0z\x15\x01"s), "zzzzzzzzzz") << "a copy of what it writes itself";
  EXPECT_EQ(unpacked("\x08\x04\x61\x62\x16\x02\0"s), "abababab") << "16 bits of distance";
  EXPECT_EQ(unpacked("\x05\x04\x61\x62\x0b\x02\0\0\0"s), "ababa") << "32 bits of distance";
  const std::string longer(300, 'q');
  EXPECT_EQ(unpacked("\xac\x02\xf4\x2b\x01"s + longer), longer) << "two bytes of length";
  EXPECT_EQ(unpacked("\x40\xf0\x3f"s + longer.substr(0, 64)), longer.substr(0, 64)) << "one byte of length";
}

TEST(Snappy, TellsDamage) {
  for (const std::string& packed :
       {""s, "\x05\x10hell"s, "\x06\x10hello"s, "\x04\x10hello"s, "\x0a\0z\x15\x02"s, "\x0a\0z\x15\0"s,
        "\x09\0z\x15\x01"s, "\xff\xff\xff\xff\x0f\0z"s, "\xff\xff\xff\xff\xff\xff"s, "\x05\xfc\xff\xff\xff\xffz"s})
    EXPECT_EQ(unpacked(packed), "damaged");
}

}  // namespace

}  // namespace cortado::data::testing
