// An LMDB file: opens it, reads all records, seeks.
#include "data/lmdb/lmdb.h"

#include "tests/fuzz/fuzzed.h"

void cortado::fuzz::fuzz(std::string_view input) {
  using namespace data;
  expect_answer([&] {
    const std::string path = FuzzedFile(input).path();
    const auto database = std::make_shared<const Lmdb>(path, path);
    if (database->records() > 100000) return;
    LmdbCursor cursor(database);
    uint64_t sum = 0;
    for (int64_t i = 0; i < database->records(); ++i) {
      const Record record = cursor.next();
      for (const char c : record.value) sum += uint64_t(c);
    }
    static volatile uint64_t read;
    read = sum;
    cursor.seek(database->records() / 2);
    database->record_at(cursor.position());
    database->record_near(0.7);
  });
}
