// Compares Cortado's LMDB reader with liblmdb, on valid and damaged files of many shapes that liblmdb wrote. LMDB has
// no checksums, so that neither reader detects damage within a key or a value. liblmdb may crash on a damaged file: it
// runs in a child process.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <optional>

#include "data/lmdb/lmdb.h"
#include "tests/data/fixtures.h"

namespace cortado::data::testing {

namespace {

/// All records in order, as one text.
class RecordsRead {
 public:
  void add(std::string_view key, std::string_view value) {
    for (const std::string_view part : {key, value}) {
      digest_.add(std::to_string(part.size()) + " ");
      digest_.add(part);
    }
    ++records_;
  }
  std::string str() const { return std::to_string(records_) + " records, " + digest_.str(); }

 private:
  Digest digest_;
  int64_t records_ = 0;
};

/// Throws std::runtime_error.
std::string read_by_library(const std::string& folder) {
  const auto check = [](int status) {
    if (status != 0) throw std::runtime_error(::mdb_strerror(status));
  };
  MDB_env* env = nullptr;
  MDB_txn* transaction = nullptr;
  MDB_dbi table = 0;
  MDB_cursor* cursor = nullptr;
  check(::mdb_env_create(&env));
  check(::mdb_env_open(env, folder.c_str(), MDB_RDONLY | MDB_NOLOCK, 0));
  check(::mdb_txn_begin(env, nullptr, MDB_RDONLY, &transaction));
  check(::mdb_dbi_open(transaction, nullptr, 0, &table));
  check(::mdb_cursor_open(transaction, table, &cursor));
  RecordsRead records;
  MDB_val key, value;
  int status;
  while ((status = ::mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0)
    records.add({static_cast<char*>(key.mv_data), key.mv_size}, {static_cast<char*>(value.mv_data), value.mv_size});
  if (status != MDB_NOTFOUND) check(status);
  return records.str();
}

/// The child process: writes the records that liblmdb read to `out` and exits 0; exits otherwise after an error.
[[noreturn]] void be_library(const std::string& folder, int out) {
  ::signal(SIGBUS, SIG_DFL);  // not Cortado's handler for lost pages
  ::alarm(3);
  ::dup2(::open("/dev/null", O_WRONLY), STDERR_FILENO);  // hides liblmdb's failed assertions
  try {
    const std::string text = read_by_library(folder);
    ::_exit(::write(out, text.data(), text.size()) == ssize_t(text.size()) ? 0 : 1);
  } catch (const std::exception&) {
    ::_exit(1);
  }
}

struct LibraryReading {
  std::optional<std::string> records;  ///< if it read to the end
  bool crashed = false, hung = false;
};

LibraryReading read_in_child(const std::string& folder) {
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
  const pid_t child = ::fork();
  if (child == 0) be_library(folder, ends[1]);
  ::close(ends[1]);
  char text[256];
  const ssize_t n = ::read(ends[0], text, sizeof text);  // less than a pipe's buffer: one read suffices
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  LibraryReading reading;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && n > 0) reading.records = std::string(text, size_t(n));
  reading.hung = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
  reading.crashed = WIFSIGNALED(status) && !reading.hung;
  return reading;
}

/// The records by Cortado's reader; nullopt if it reported damage.
std::optional<std::string> read_by_us(const std::string& folder) {
  try {
    const std::shared_ptr<const Lmdb> database = Lmdb::open(folder);
    LmdbCursor cursor(database);
    RecordsRead records;
    for (int64_t i = 0; i < database->records(); ++i) {
      const Record record = cursor.next();
      records.add(record.key, record.value);
    }
    database->check_unchanged();
    return records.str();
  } catch (const Error& error) {
    EXPECT_EQ(int(error.code()), int(ExitCode::kData)) << error.what();
    return {};
  }
}

struct Shape {
  const char* name;
  int records;
  size_t most_key, most_value;
  int rounds;  ///< later transactions, each of which deletes a third of the records and rewrites a third
};

const Shape kShapes[] = {{"one", 1, 5, 20, 0},         {"small", 3000, 20, 30, 0},
                         {"large", 60, 20, 20000, 0},  {"long_keys", 300, 511, 80, 0},
                         {"changed", 900, 30, 300, 4}, {"large_changed", 50, 30, 15000, 4}};

std::string shape_name(const ::testing::TestParamInfo<Shape>& info) { return info.param.name; }

class LmdbDifferential : public ::testing::TestWithParam<Shape> {
 protected:
  void SetUp() override {
    const Shape& shape = GetParam();
    RandomStream random(31);
    Records records;
    while (int(records.size()) < shape.records)
      records[random_bytes(random, 1 + random.below(shape.most_key))] =
          random_bytes(random, random.below(shape.most_value + 1));
    write_with_library(path_, records);
    for (int round = 0; round < shape.rounds; ++round) change(records, random);
    RecordsRead written;
    for (const auto& [key, value] : records) written.add(key, value);
    sound_ = written.str();
  }

  void change(Records& records, RandomStream& random) {
    with_library(path_, [&](MDB_txn* transaction, MDB_dbi table) {
      for (auto it = records.begin(); it != records.end();) {
        MDB_val key{it->first.size(), const_cast<char*>(it->first.data())};
        const uint64_t what = random.below(3);
        if (what == 0) {
          ::mdb_del(transaction, table, &key, nullptr);
          it = records.erase(it);
          continue;
        }
        if (what == 1)
          put(transaction, table, it->first, it->second = random_bytes(random, random.below(GetParam().most_value)));
        ++it;
      }
    });
  }

  const Folder folder_;
  const std::string path_ = folder_ / "db";
  std::string sound_;
};

TEST_P(LmdbDifferential, ReadsTheSameRecordsInTheSameOrder) {
  EXPECT_EQ(read_in_child(path_).records, sound_);
  EXPECT_EQ(read_by_us(path_), sound_);
}

/// Flips bits, or truncates the file. Three of four flips are in the header or the table of entries of a page, where
/// damage has the most effect.
std::string damaged(std::string content, RandomStream& random) {
  constexpr size_t kPage = 4096;
  if (random.below(8) == 0) return content.substr(0, random.below(content.size()));
  for (uint64_t flips = 1 + random.below(3); flips > 0; --flips) {
    const size_t page = random.below(content.size() / kPage) * kPage;
    const size_t at = random.below(4) ? page + random.below(64) : random.below(content.size());
    content[at] = char(content[at] ^ (1 << random.below(8)));
  }
  return content;
}

TEST_P(LmdbDifferential, ReadsDamagedFilesAsItDoesOrReportsThem) {
  const std::string file = path_ + "/data.mdb", whole = read_file(file);
  RandomStream random(32);
  std::map<std::string, int> counts;
  for (int round = 0; round < 150; ++round) {
    std::filesystem::remove(file);
    write_file(file, damaged(whole, random));
    const LibraryReading library = read_in_child(path_);
    const std::optional<std::string> ours = read_by_us(path_);
    const std::string theirs = library.crashed              ? "library_crashes"
                               : library.hung               ? "library_hangs"
                               : !library.records           ? "library_reports"
                               : *library.records == sound_ ? "library_reads_sound"
                                                            : "library_reads_other";
    ++counts[theirs + (!ours ? "_we_report" : *ours == sound_ ? "_we_read_sound" : "_we_read_other")];
    if (library.records && ours) {
      EXPECT_EQ(*ours, *library.records) << "round " << round;
    }
  }
  for (const auto& [name, count] : counts) RecordProperty(name, count);
}

INSTANTIATE_TEST_SUITE_P(Shapes, LmdbDifferential, ::testing::ValuesIn(kShapes), shape_name);

}  // namespace

}  // namespace cortado::data::testing
