#include "data/lmdb/page_checksums.h"

#include "core/log.h"
#include "data/inspect/dataset_stats.h"
#include "data/lmdb/lmdb.h"
#include "data/lmdb/lmdb_writer.h"
#include "tests/data/fixtures.h"

namespace cortado::data::testing {

namespace {

/// Small records, and one with overflow pages.
void write_dataset(const std::string& path) {
  LmdbWriter writer(path);
  for (int i = 0; i < 40; ++i)
    writer.put(std::to_string(100 + i), std::string(i == 10 ? 20000 : 200, char('a' + i % 26)));
  writer.commit();
}

Records read_all(const std::string& path) {
  const std::shared_ptr<const Lmdb> database = Lmdb::open(path);
  LmdbCursor cursor(database);
  Records records;
  for (int64_t i = 0; i < database->records(); ++i) {
    const Record record = cursor.next();
    records[std::string(record.key)] = record.value;
  }
  return records;
}

/// Changes a byte of `text`, which is in the file once.
void damage(const std::string& file, const std::string& text) {
  std::string bytes = read_file(file);
  const size_t at = bytes.find(text);
  ASSERT_NE(at, std::string::npos);
  bytes[at + text.size() / 2] ^= 4;
  std::filesystem::remove(file);  // a new inode, because an open database is shared by inode
  write_file(file, bytes);
}

std::string warnings_of(const std::function<void()>& act) {
  ::testing::internal::CaptureStderr();
  act();
  return ::testing::internal::GetCapturedStderr();
}

TEST(PageChecksums, ReportADamagedRecordByItsKey) {
  const Folder folder;
  write_dataset(folder / "db");
  damage(folder / "db/data.mdb", std::string(5000, 'k'));
  expect_error([&] { read_all(folder / "db"); }, ExitCode::kData, "record '110' does not match its checksum");
  const DatasetStats stats = dataset_stats(folder / "db", {});
  EXPECT_EQ(stats.records, 40);
  EXPECT_EQ(stats.listed_broken.at(10).reason, "it does not match its checksum");
}

TEST(PageChecksums, ReportADamagedPageOfSmallRecords) {
  const Folder folder;
  write_dataset(folder / "db");
  damage(folder / "db/data.mdb", std::string(200, 'c'));
  expect_error([&] { read_all(folder / "db"); }, ExitCode::kData, "does not match its checksum");
  const DatasetStats stats = dataset_stats(folder / "db", {});
  const auto at_fault = [](const auto& broken) { return broken.reason == "it does not match its checksum"; };
  const auto& told = stats.listed_broken;
  const auto found = std::find_if(told.begin(), told.end(), at_fault);
  ASSERT_NE(found, told.end());
  EXPECT_LE(found->key, "102") << "only records of the damaged page are lost";
  EXPECT_LT(std::count_if(told.begin(), told.end(), at_fault), 20);
}

/// Values that fill their last overflow page to within 16 bytes, the head of the first page: damage at every page's
/// ends.
TEST(PageChecksums, CoverEveryPageOfALargeValue) {
  for (const int over : {-17, -16, -15, -1, 0, 1, 15, 16}) {
    const Folder folder;
    const std::string value(size_t(3 * 4096 + over), 'v');
    LmdbWriter writer(folder / "db");
    for (const char* key : {"a", "b", "c"}) writer.put(key, key[0] == 'b' ? value : "small");
    writer.commit();
    const std::string file = folder / "db/data.mdb", whole = read_file(file);
    const size_t start = whole.find(value);
    ASSERT_NE(start, std::string::npos);
    for (const size_t at : {size_t(0), size_t(4079), size_t(4080), size_t(8175), size_t(8176), size_t(12271),
                            size_t(12272), value.size() - 1}) {
      if (at >= value.size()) continue;
      std::string bytes = whole;
      bytes[start + at] ^= 4;
      std::filesystem::remove(file);
      write_file(file, bytes);
      SCOPED_TRACE(std::to_string(value.size()) + " bytes, damaged at " + std::to_string(at));
      expect_error([&] { read_all(folder / "db"); }, ExitCode::kData, "record 'b' does not match its checksum");
    }
  }
}

TEST(PageChecksums, ADatabaseWithoutThemIsReadUnchecked) {
  const Folder folder;
  write_dataset(folder / "db");
  std::filesystem::remove(folder / "db/checksums");
  damage(folder / "db/data.mdb", std::string(5000, 'k'));
  EXPECT_EQ(warnings_of([&] { EXPECT_EQ(read_all(folder / "db").size(), 40u); }), "");
}

TEST(PageChecksums, AreIgnoredAfterAnotherProgramWrote) {
  for (const int commits : {1, 2, 3}) {
    const Folder folder;
    write_dataset(folder / "db");
    Records wanted = read_with_library(folder / "db");
    for (int i = 0; i < commits; ++i)
      with_library(folder / "db", [&](MDB_txn* transaction, MDB_dbi table) {
        wanted["105"] = "other" + std::to_string(i);
        put(transaction, table, "105", wanted["105"]);
      });
    const std::string warnings = warnings_of([&] { EXPECT_EQ(read_all(folder / "db"), wanted); });
    EXPECT_NE(warnings.find("checksums is not used: a program that does not update checksums"), std::string::npos)
        << warnings;
  }
}

TEST(PageChecksums, OfAnotherDatabaseAreIgnored) {
  const Folder folder;
  write_dataset(folder / "db");
  std::filesystem::remove(folder / "db/data.mdb");
  const Records records{{"a", "1"}, {"b", "2"}};
  write_with_library(folder / "other", records);
  std::filesystem::rename(folder / "other/data.mdb", folder / "db/data.mdb");
  const std::string warnings = warnings_of([&] { EXPECT_EQ(read_all(folder / "db"), records); });
  EXPECT_NE(warnings.find("is not used"), std::string::npos) << warnings;
}

TEST(PageChecksums, ThatAreDamagedReportNoRecords) {
  const Folder folder;
  write_dataset(folder / "db");
  const Records wanted = read_all(folder / "db");
  const std::string file = folder / "db/checksums", whole = read_file(file);
  for (size_t at = 0; at < whole.size(); at += 3) {
    std::string bytes = whole;
    bytes[at] ^= 16;
    write_file(file, bytes);
    std::filesystem::copy_file(folder / "db/data.mdb", folder / "db/lock.mdb");  // a new inode
    std::filesystem::rename(folder / "db/lock.mdb", folder / "db/data.mdb");
    const std::string warnings = warnings_of([&] { EXPECT_EQ(read_all(folder / "db"), wanted) << at; });
    if (at < 72) {  // in the header; a page number may be that of a page that is never read
      EXPECT_NE(warnings, "") << at;
    }
  }
}

}  // namespace

}  // namespace cortado::data::testing
