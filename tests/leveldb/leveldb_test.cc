// Databases of many shapes, written by libleveldb itself, intact and damaged, read through the program
// `cortado-leveldb`.
#include "data/convert/leveldb.h"

#include <leveldb/comparator.h>
#include <leveldb/db.h>
#include <leveldb/write_batch.h>
#include <sys/stat.h>

#include <set>

#include "tests/data/fixtures.h"

namespace cortado::data::testing {

namespace {

constexpr size_t kSmallestBuffer = 64 << 10;  // size of the write buffer

void check(const ::leveldb::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

/// A database that is open in this process.
class Database {
 public:
  Database(const std::string& folder, ::leveldb::Options options) {
    options.create_if_missing = true;
    ::leveldb::DB* database = nullptr;
    check(::leveldb::DB::Open(options, folder, &database));
    database_.reset(database);
  }

  void put(const std::string& key, const std::string& value) {
    check(database_->Put({}, key, value));
    records[key] = value;
    ever.insert({key, value});
  }

  void remove(const std::string& key) {
    check(database_->Delete({}, key));
    records.erase(key);
  }

  void compact() { database_->CompactRange(nullptr, nullptr); }

  Records records;                                     ///< current records
  std::set<std::pair<std::string, std::string>> ever;  ///< all records ever written

 private:
  std::unique_ptr<::leveldb::DB> database_;
};

::leveldb::Options options_with(size_t write_buffer, bool packed = true) {
  ::leveldb::Options options;
  options.write_buffer_size = write_buffer;
  if (!packed) options.compression = ::leveldb::kNoCompression;
  return options;
}

/// Writes records in random order, rewrites some and removes some.
void fill(Database& database, int n, size_t most_bytes, uint64_t seed) {
  RandomStream random(seed);
  for (int i = 0; i < n; ++i) {
    const std::string key = std::to_string(random.below(uint64_t(n))) + std::string(random.below(60), 'k');
    std::string value = random_bytes(random, random.below(most_bytes + 1));
    if (i % 2) value.assign(value.size(), 'v');  // compressible by Snappy
    database.put(key, value);
    if (random.below(5) == 0) database.remove(database.records.begin()->first);
  }
}

Records read_all(const std::string& folder) {
  Leveldb database(folder);
  Records records;
  std::string_view key, value;
  while (database.next(key, value)) records.emplace(key, value);
  return records;
}

struct Shape {
  int n;
  size_t most_bytes, write_buffer;
  bool packed, compacted;
};

class LeveldbOfShape : public ::testing::TestWithParam<Shape> {};

TEST_P(LeveldbOfShape, IsReadAsItWasWritten) {
  const Shape& shape = GetParam();
  const Folder folder;
  Records records;
  {
    Database database(folder / "db", options_with(shape.write_buffer, shape.packed));
    fill(database, shape.n, shape.most_bytes, 11);
    if (shape.compacted) database.compact();
    database.put("", "of no key");
    records = database.records;
  }
  EXPECT_EQ(read_all(folder / "db"), records);
}

INSTANTIATE_TEST_SUITE_P(
    All, LeveldbOfShape,
    ::testing::Values(Shape{0, 0, kSmallestBuffer, true, false},  // a log of one record
                      Shape{3000, 50, 16 << 20, true, false},     // a log only
                      Shape{300, 60000, 16 << 20, true, false},   // a log that is longer than our tables
                      Shape{6000, 900, kSmallestBuffer, true, false}, Shape{6000, 900, kSmallestBuffer, false, false},
                      Shape{6000, 900, kSmallestBuffer, true, true}, Shape{20, 900000, kSmallestBuffer, true, false}));

/// Names, contents and times of all files in a folder.
std::map<std::string, std::pair<std::string, int64_t>> state_of(const std::string& folder) {
  std::map<std::string, std::pair<std::string, int64_t>> state;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    state[entry.path().filename()] = {read_file(entry.path()),
                                      int64_t(entry.last_write_time().time_since_epoch().count())};
  return state;
}

TEST(LeveldbFolder, IsNotChanged) {
  const Folder folder;
  const std::string path = folder / "db";
  Records records;
  {
    Database database(path, options_with(kSmallestBuffer));
    fill(database, 3000, 500, 12);
    records = database.records;
  }
  const auto before = state_of(path);
  for (const auto& [name, state] : before) ::chmod((path + "/" + name).c_str(), 0444);
  ::chmod(path.c_str(), 0555);
  EXPECT_EQ(read_all(path), records);
  EXPECT_EQ(state_of(path), before);
  ::chmod(path.c_str(), 0755);
}

TEST(LeveldbFolder, MayBeOpenElsewhere) {
  const Folder folder;
  Database database(folder / "db", options_with(kSmallestBuffer));
  fill(database, 300, 300, 13);
  EXPECT_EQ(read_all(folder / "db"), database.records);
  database.put("later", "too");
  EXPECT_EQ(read_all(folder / "db"), database.records);
}

class Backwards : public ::leveldb::Comparator {
 public:
  int Compare(const ::leveldb::Slice& a, const ::leveldb::Slice& b) const override { return b.compare(a); }
  const char* Name() const override { return "Backwards"; }
  void FindShortestSeparator(std::string*, const ::leveldb::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

TEST(LeveldbFolder, WithAnotherComparatorIsRefused) {
  const Folder folder;
  const Backwards order;
  {
    ::leveldb::Options options;
    options.comparator = &order;
    Database database(folder / "db", options);
    database.put("a", "1");
  }
  expect_error([&] { read_all(folder / "db"); }, ExitCode::kData, "Backwards");
}

/// Flips, zeros or removes some bytes of a file's content.
std::string damaged(std::string content, RandomStream& random) {
  const uint64_t what = random.below(6);
  if (content.empty()) return content;
  const size_t at = random.below(content.size());
  if (what == 0) return content.substr(0, at);
  if (what == 1) {
    std::fill_n(content.begin() + int64_t(at), std::min<size_t>(content.size() - at, 1 + random.below(600)), '\0');
    return content;
  }
  for (uint64_t flips = 1 + random.below(4); flips > 0; --flips) {
    char& byte = content[random.below(3) ? random.below(content.size())
                                         : content.size() - 1 - random.below(48) % content.size()];
    byte = char(byte ^ (1 << random.below(8)));
  }
  return content;
}

TEST(DamagedLeveldb, YieldsWrittenRecordsOrAnError) {
  const Folder folder;
  const std::string path = folder / "db";
  std::set<std::pair<std::string, std::string>> ever;
  {
    Database database(path, options_with(kSmallestBuffer));
    fill(database, 900, 500, 14);
    ever = database.ever;
  }
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(path))
    if (!entry.path().filename().string().starts_with("LO")) files.push_back(entry.path());  // LOCK and LOG
  std::sort(files.begin(), files.end());
  RandomStream random(15);
  int errors = 0, read = 0;
  for (int round = 0; round < 240; ++round) {
    const std::string& file = files[size_t(round) % files.size()];
    const std::string whole = read_file(file);
    write_file(file, damaged(whole, random));
    try {
      for (const auto& record : read_all(path))
        EXPECT_TRUE(ever.contains({record.first, record.second})) << file << " in round " << round;
      ++read;
    } catch (const Error& error) {
      EXPECT_EQ(int(error.code()), int(ExitCode::kData)) << error.what();
      EXPECT_EQ(error.mistakes()[0].place.file, path) << error.what();
      ++errors;
    }
    write_file(file, whole);
  }
  RecordProperty("errors", errors);
  RecordProperty("read", read);
  EXPECT_GT(errors, 120);
}

}  // namespace

}  // namespace cortado::data::testing
