// A flipped bit in a dataset, or a truncated dataset, is reported or changes no record.
#include <vector>

#include "core/log.h"
#include "data/lmdb/lmdb.h"
#include "data/lmdb/lmdb_writer.h"
#include "tests/data/fixtures.h"
#include "tests/faults/flips.h"

namespace cortado::data {
namespace {

using Samples = std::vector<std::pair<std::string, std::string>>;

Samples read_all(const std::string& path) {
  const std::shared_ptr<const Lmdb> database = Lmdb::open(path);
  LmdbCursor cursor(database);
  Samples samples;
  for (int64_t i = 0; i < database->records(); ++i) {
    const Record record = cursor.next();
    samples.emplace_back(record.key, record.value);
  }
  database->check_unchanged();
  return samples;
}

/// Small records that share a page, and large ones that occupy several.
void write_dataset(const std::string& path) {
  LmdbWriter writer(path);
  RandomStream random(5);
  for (int i = 0; i < 60; ++i) {
    std::string value(i % 3 == 0 ? 9000 : 300, '\0');
    for (char& byte : value) byte = char(random.below(256));
    writer.put(std::to_string(1000 + i), value);
  }
  writer.commit();
}

TEST(DamagedDataset, ReturnsNoOtherRecord) {
  set_log_level(Severity::kError);
  const testing::Folder folder;
  const std::string path = folder / "db";
  write_dataset(path);
  const Samples whole = read_all(path);
  Tally tally{"LMDBs"};
  const int flips = number_of_flips() / 10 * 9;
  for (const auto& [name, count] : {std::pair("data.mdb", flips), std::pair("checksums", number_of_flips() - flips)}) {
    const std::string file = path + "/" + name, bytes = read_file(file);
    damage(bytes, count, 3, [&](const std::string& damaged) {
      put_file(file, damaged);
      tally.count([&] { return read_all(path) == whole; });
    });
    put_file(file, bytes);
  }
  set_log_level(Severity::kInfo);
  EXPECT_EQ(tally.silent, 0);
  EXPECT_GT(tally.detected, flips / 2);
}

}  // namespace
}  // namespace cortado::data
