#include "data/lmdb/lmdb.h"

#include <sys/stat.h>

#include "core/files/mapped_file.h"
#include "data/lmdb/lmdb_writer.h"
#include "tests/data/fixtures.h"

namespace cortado::data::testing {

namespace {

Records read_all(const std::string& path) {
  LmdbCursor cursor(Lmdb::open(path));
  const std::shared_ptr<const Lmdb> database = Lmdb::open(path);
  Records records;
  for (int64_t i = 0; i < database->records(); ++i) {
    const Record record = cursor.next();
    records[std::string(record.key)] = record.value;
  }
  return records;
}

/// Small, large and overflow-page values; keys of many lengths.
Records random_records(int n, size_t most_bytes, uint64_t seed) {
  RandomStream random(seed);
  Records records;
  while (int(records.size()) < n)
    records[random_bytes(random, 1 + random.below(40))] = random_bytes(random, random.below(most_bytes + 1));
  return records;
}

struct Case {
  int n;
  size_t most_bytes;
};

class LmdbAgainstLibrary : public ::testing::TestWithParam<Case> {};

TEST_P(LmdbAgainstLibrary, ReadsWhatTheLibraryWrote) {
  const Folder folder;
  const Records records = random_records(GetParam().n, GetParam().most_bytes, 7);
  write_with_library(folder / "db", records);
  EXPECT_EQ(read_all(folder / "db"), records);
}

INSTANTIATE_TEST_SUITE_P(Sizes, LmdbAgainstLibrary,
                         ::testing::Values(Case{1, 0}, Case{1, 100000}, Case{2, 10}, Case{3000, 60}, Case{40000, 20},
                                           Case{500, 3000}, Case{300, 50000}));

TEST(Lmdb, ReadsAfterDeletionsAndRewrites) {
  const Folder folder;
  Records records = random_records(5000, 700, 1);
  write_with_library(folder / "db", records);
  RandomStream random(2);
  for (int round = 0; round < 5; ++round)
    with_library(folder / "db", [&](MDB_txn* transaction, MDB_dbi table) {
      for (auto it = records.begin(); it != records.end();) {
        MDB_val key{it->first.size(), const_cast<char*>(it->first.data())};
        const uint64_t what = random.below(4);
        if (what == 0) {
          ::mdb_del(transaction, table, &key, nullptr);
          it = records.erase(it);
          continue;
        }
        if (what == 1) put(transaction, table, it->first, it->second = random_bytes(random, random.below(9000)));
        ++it;
      }
    });
  EXPECT_EQ(read_all(folder / "db"), records);
}

TEST(Lmdb, SeeksAndWrapsAround) {
  const Folder folder;
  const Records records = random_records(2000, 300, 3);
  write_with_library(folder / "db", records);
  std::vector<std::string> keys;
  for (const auto& [key, value] : records) keys.push_back(key);
  const std::shared_ptr<const Lmdb> database = Lmdb::open(folder / "db");
  LmdbCursor cursor(database);
  for (const int64_t index : {int64_t(0), int64_t(1), int64_t(17), int64_t(1000), int64_t(1999)}) {
    cursor.seek(index);
    for (int64_t i = index; i < index + 5; ++i) {
      const uint64_t position = cursor.position();
      EXPECT_EQ(database->record_at(position).key, keys[size_t(i % 2000)]);
      EXPECT_EQ(cursor.next().key, keys[size_t(i % 2000)]);
    }
  }
}

TEST(Lmdb, OneFileIsOpenedOnce) {
  const Folder folder;
  write_with_library(folder / "db", {{"a", "1"}});
  std::filesystem::create_directory_symlink(folder / "db", folder / "other_name");
  const auto database = Lmdb::open(folder / "db");
  EXPECT_EQ(database, Lmdb::open(folder / "db/"));
  EXPECT_EQ(database, Lmdb::open(folder / "other_name"));
  EXPECT_EQ(database, Lmdb::open(folder / "db/data.mdb"));
}

TEST(Lmdb, WritesNothingToTheFolder) {
  const Folder folder;
  write_with_library(folder / "db", {{"a", "1"}});
  ::chmod((folder / "db").c_str(), 0555);
  EXPECT_EQ(read_all(folder / "db"), (Records{{"a", "1"}}));
  EXPECT_FALSE(file_exists(folder / "db/lock.mdb"));
  ::chmod((folder / "db").c_str(), 0755);
}

TEST(Lmdb, ReportsWhatIsNotADataset) {
  const Folder folder;
  expect_error([&] { Lmdb::open(folder / "nowhere"); }, ExitCode::kIo, "No such file");
  std::filesystem::create_directory(folder / "leveldb");
  expect_error([&] { Lmdb::open(folder / "leveldb"); }, ExitCode::kData, "data.mdb is missing");
  write_file(folder / "leveldb/CURRENT", "MANIFEST-000001\n");
  expect_error([&] { Lmdb::open(folder / "leveldb"); }, ExitCode::kData, "cortado convert");
  write_file(folder / "text", "This is a text, long enough to hold a header but with nothing of the kind in it. " +
                                  std::string(200, '.'));
  expect_error([&] { Lmdb::open(folder / "text"); }, ExitCode::kData, "not an LMDB");
  write_file(folder / "nothing", "");
  expect_error([&] { Lmdb::open(folder / "nothing"); }, ExitCode::kData, "not an LMDB");
  write_with_library(folder / "empty", {});
  expect_error([&] { Lmdb::open(folder / "empty"); }, ExitCode::kData, "0 records in " + (folder / "empty"));
}

/// Writes `records` with liblmdb into the database of this name (null: the main one), which gets `flags`.
void write_with_flags(const std::string& path, const char* name, unsigned flags,
                      const std::vector<std::pair<std::string, std::string>>& records) {
  MDB_env* env = nullptr;
  MDB_txn* transaction = nullptr;
  MDB_dbi table = 0;
  std::filesystem::create_directory(path);
  ASSERT_EQ(::mdb_env_create(&env), 0);
  ASSERT_EQ(::mdb_env_set_maxdbs(env, 2), 0);
  ASSERT_EQ(::mdb_env_open(env, path.c_str(), MDB_NOLOCK, 0644), 0);
  ASSERT_EQ(::mdb_txn_begin(env, nullptr, 0, &transaction), 0);
  ASSERT_EQ(::mdb_dbi_open(transaction, name, MDB_CREATE | flags, &table), 0);
  for (const auto& [key, value] : records) put(transaction, table, key, value);
  ASSERT_EQ(::mdb_txn_commit(transaction), 0);
  ::mdb_env_close(env);
}

const std::string kFirstKey = std::string("\1\0\0\0", 4), kSecondKey = std::string("\0\1\0\0", 4);

TEST(Lmdb, ReadsKeysOfOtherOrders) {
  for (const unsigned flags : {0u, unsigned(MDB_INTEGERKEY), unsigned(MDB_REVERSEKEY)}) {
    const Folder folder;
    write_with_flags(folder / "db", nullptr, flags, {{kFirstKey, "one"}, {kSecondKey, "two"}});
    LmdbCursor cursor(Lmdb::open(folder / "db"));
    EXPECT_EQ(cursor.next().value, flags ? "one" : "two") << flags;
    EXPECT_EQ(cursor.next().value, flags ? "two" : "one") << flags;
  }
}

/// The message of a database that other programs can read: it is not called damaged.
void expect_refused(const std::string& path, const std::string& message) {
  try {
    read_all(path);
    ADD_FAILURE() << "no error; expected: " << message;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kData) << path;
    const std::string text = error.what();
    EXPECT_NE(text.find("not supported: " + message), std::string::npos) << text;
    EXPECT_EQ(text.find("damaged"), std::string::npos) << text;
    EXPECT_NE(text.find("hint: "), std::string::npos) << text;
  }
}

TEST(Lmdb, RefusesValidDatabasesOfOtherForms) {
  const Folder folder;
  write_with_flags(folder / "named", "inner", 0, {{"key", "value"}});
  expect_refused(folder / "named", "it has named databases");
  for (const unsigned kind : {0, MDB_DUPFIXED, MDB_DUPFIXED | MDB_INTEGERDUP, MDB_REVERSEDUP}) {
    const std::string path = folder / ("duplicates" + std::to_string(kind));
    write_with_flags(path, nullptr, MDB_DUPSORT | kind, {{"a", "1234"}, {"a", "5678"}, {"b", "9012"}});
    expect_refused(path, "its keys can have several values (MDB_DUPSORT)");
  }
  write_with_flags(folder / "plain", nullptr, 0, {{"key", "value"}});
  const std::string plain = read_file(folder / "plain/data.mdb");
  const auto changed = [&](const std::string& name, const std::function<void(std::string&)>& change) {
    std::string bytes = plain;
    change(bytes);
    write_file(folder / name, bytes);
    return folder / name;
  };
  const auto version_2 = [](std::string& bytes) { bytes[20] = bytes[4096 + 20] = 2; };
  expect_refused(changed("version", version_2), "its format is version 2, not 1");
  const auto big_endian = [](std::string& bytes) { std::reverse(bytes.begin() + 16, bytes.begin() + 20); };
  expect_refused(changed("big", big_endian), "it is from a big-endian machine");
  expect_refused(changed("small", [](std::string& bytes) { bytes.erase(0, 4); }), "it is from a program or machine of");
}

TEST(Lmdb, TruncationIsAnError) {
  const Folder folder;
  write_with_library(folder / "db", random_records(400, 6000, 4));
  const std::string file = folder / "db/data.mdb", whole = read_file(file);
  RandomStream random(5);
  for (int i = 0; i < 200; ++i) {
    const size_t keep = i % 2 ? random.below(whole.size()) : random.below(whole.size() / 4096) * 4096;
    std::filesystem::remove(file);
    write_file(file, std::string_view(whole).substr(0, keep));
    expect_error([&] { read_all(folder / "db"); }, ExitCode::kData, keep >= 8192 ? "truncated: it has " : "");
  }
}

/// Values whose end is near that of a page, with the head of the first page or without.
TEST(Lmdb, ReadsValuesThatEndNearPages) {
  RandomStream random(9);
  Records records;
  for (const int pages : {1, 2, 5})
    for (int over = -20; over <= 20; ++over)
      records["v" + std::to_string(pages) + "," + std::to_string(over)] =
          random_bytes(random, size_t(4096 * pages + over));
  const Folder folder;
  write_with_library(folder / "db", records);
  EXPECT_EQ(read_all(folder / "db"), records);
  LmdbWriter writer(folder / "own");
  for (const auto& [key, value] : records) writer.put(key, value);
  writer.commit();
  EXPECT_EQ(read_all(folder / "own"), records);
  EXPECT_EQ(read_with_library(folder / "own"), records);
}

/// Sizes in the file of one byte more than there is room for, up to some more: the head of a page counts, too.
TEST(Lmdb, RefusesLengthsBeyondTheirPages) {
  const auto expect_refusals = [](const Records& records, const std::string& key, bool of_key, uint16_t fits,
                                  const std::string& message) {
    const Folder folder;
    write_with_library(folder / "db", records);
    const std::string file = folder / "db/data.mdb", whole = read_file(file);
    const size_t at = whole.rfind(key) - (of_key ? 2 : 8);  // a node: its value's size, flags, its key's size, its key
    ASSERT_LT(at, whole.size());
    for (const int over : {0, 1, 2, 8, 15, 16, 17, 40}) {
      std::string bytes = whole;
      bytes[at] = char(fits + over);
      bytes[at + 1] = char((fits + over) >> 8);
      std::filesystem::remove(file);
      write_file(file, bytes);
      SCOPED_TRACE(std::to_string(fits) + " and " + std::to_string(over));
      if (over > 0)
        expect_error([&] { read_all(folder / "db"); }, ExitCode::kData, message);
      else
        EXPECT_NO_THROW(read_all(folder / "db"));
    }
  };
  // The first node is at the end of its page, so that its value fits exactly.
  const std::string key = "a key that is there once", even_size(1000, 'v');
  expect_refusals({{key, even_size}}, key, false, 1000, "a value is outside of its page");
  expect_refusals({{key, ""}}, key, true, uint16_t(key.size()), "a key is outside of its page");
  for (const uint16_t pages : {1, 2, 4}) {
    const uint16_t fits = uint16_t(4096 * pages - 16);
    for (const int less : {0, 1, 15, 16, 100})
      expect_refusals({{key, std::string(size_t(fits - less), 'v')}}, key, false, fits,
                      "a value is at the wrong place");
  }
}

/// Reads all records of a damaged file, which may throw only Error(kData).
bool survives(const std::string& path) {
  try {
    const std::shared_ptr<const Lmdb> database = Lmdb::open(path);
    LmdbCursor cursor(database);
    uint64_t sum = 0;
    for (int64_t i = 0; i < database->records(); ++i) {
      const Record record = cursor.next();
      for (const char c : record.key) sum += uint8_t(c);
      for (const char c : record.value) sum += uint8_t(c);
    }
    database->check_unchanged();
    return sum + 1 > 0;
  } catch (const Error& error) {
    return error.code() == ExitCode::kData;
  }
}

TEST(Lmdb, FlippedBitsNeverCrash) {
  const Folder folder;
  write_with_library(folder / "db", random_records(600, 2500, 6));
  const std::string file = folder / "db/data.mdb", whole = read_file(file);
  RandomStream random(7);
  for (int i = 0; i < 1500; ++i) {
    std::string damaged = whole;
    for (uint64_t flips = 1 + random.below(8); flips > 0; --flips) {
      // Three of four flips are in page headers, node tables and the file's header, where damage has the most effect.
      const size_t at =
          random.below(4) ? random.below(whole.size() / 4096) * 4096 + random.below(200) : random.below(whole.size());
      damaged[at] = char(damaged[at] ^ (1 << random.below(8)));
    }
    std::filesystem::remove(file);
    write_file(file, damaged);
    ASSERT_TRUE(survives(folder / "db")) << "round " << i;
  }
}

TEST(Lmdb, ShrinkingWhileItIsReadIsAnError) {
  guard_mapped_files();
  const Folder folder;
  write_with_library(folder / "db", random_records(300, 20000, 8));
  const std::shared_ptr<const Lmdb> database = Lmdb::open(folder / "db");
  LmdbCursor cursor(database);
  std::filesystem::resize_file(folder / "db/data.mdb", 8192);
  expect_error(
      [&] {
        uint64_t sum = 0;
        for (int64_t i = 0; i < database->records(); ++i)
          for (const char c : cursor.next().value) sum += uint8_t(c);
        database->check_unchanged();
        ADD_FAILURE() << sum;
      },
      ExitCode::kData, "was truncated");
}

TEST(Lmdb, ChangingWhileItIsReadIsAnError) {
  const Folder folder;
  write_with_library(folder / "db", {{"a", "1"}});
  const std::shared_ptr<const Lmdb> database = Lmdb::open(folder / "db");
  database->check_unchanged();
  write_with_library(folder / "db", {{"b", "2"}});
  expect_error([&] { database->check_unchanged(); }, ExitCode::kData, "changed by another process");
}

}  // namespace

}  // namespace cortado::data::testing
