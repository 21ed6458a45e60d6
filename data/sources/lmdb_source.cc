// Records in key order are found by iterating. For other orders the position of each record is stored: eight bytes per
// record.
#include "data/sources/lmdb_source.h"

#include <algorithm>
#include <vector>

#include "data/formats/datum.h"
#include "data/sources/annotated_reader.h"
#include "data/sources/box_reader.h"

namespace cortado::data {

namespace {

constexpr int64_t kMaxBytesAhead = int64_t(32) << 20;

[[noreturn]] void throw_not_as_written() {
  throw SampleError("it does not match its checksum", "copy the dataset again, or create it again from its sources");
}

class SequentialFinder : public RecordFinder {
 public:
  explicit SequentialFinder(std::shared_ptr<const Lmdb> database) : cursor_(std::move(database)) {}

  Record find(uint64_t number) override {
    constexpr uint64_t kMaxSkipped = 64;
    if (number < at_ || number - at_ > kMaxSkipped) {
      cursor_.seek(int64_t(number));
      at_ = number;
    }
    for (; at_ < number; ++at_) {
      cursor_.position();
      cursor_.skip();
    }
    ++at_;
    return cursor_.locate_next();
  }

 private:
  LmdbCursor cursor_;
  uint64_t at_ = 0;  ///< of the cursor's next record
};

class IndexedFinder : public RecordFinder {
 public:
  explicit IndexedFinder(std::shared_ptr<const Lmdb> database) : database_(std::move(database)) {
    const uint64_t n = uint64_t(database_->records());
    places_.reserve(n);
    LmdbCursor cursor(database_);
    for (uint64_t i = 0; i < n; ++i, cursor.skip()) places_.push_back(cursor.position());
    database_->expect_random_reads();
  }

  Record find(uint64_t number) override { return database_->locate(places_[number]); }

  /// Reads ahead if the records are nearly contiguous in the file, as after writing in key order. Otherwise each is
  /// read when it is needed.
  void read_ahead(uint64_t first, uint64_t count) override {
    const Record from = find(first), to = find(first + count - 1);
    const char *begin = from.value.data(), *end = to.value.data() + to.value.size();
    if (begin < end && end - begin <= kMaxBytesAhead) database_->read_ahead({begin, size_t(end - begin)});
  }

 private:
  std::shared_ptr<const Lmdb> database_;
  std::vector<uint64_t> places_;  ///< positions in the file
};

class LmdbSource : public DataSource {
 public:
  LmdbSource(std::shared_ptr<const Lmdb> database, RecordKind kind) : database_(std::move(database)), kind_(kind) {}

  const std::string& path() const override { return database_->path(); }
  int64_t records() const override { return database_->records(); }
  int64_t bytes() const override { return database_->bytes(); }
  std::unique_ptr<RecordFinder> finder(bool anywhere) const override {
    if (anywhere) return std::make_unique<IndexedFinder>(database_);
    return std::make_unique<SequentialFinder>(database_);
  }
  std::unique_ptr<SampleReader> reader(ColorMode mode) const override {
    if (kind_ == RecordKind::kAnnotated) return std::make_unique<AnnotatedReader>(mode);
    if (kind_ == RecordKind::kBoxes) return std::make_unique<BoxReader>(mode);
    return std::make_unique<DatumReader>(mode);
  }
  void visit_labels(int64_t most, const LabelVisit& visit) const override;
  bool has_objects() const override { return kind_ != RecordKind::kDatum; }
  void prefetch(const Record& record) const override;
  void check_unchanged() const override { database_->check_unchanged(); }
  void fail(const Record& record, const SampleError& error) const override {
    throw_bad_record(*database_, record.key, error);
  }

 private:
  std::shared_ptr<const Lmdb> database_;
  RecordKind kind_;
};

void LmdbSource::prefetch(const Record& record) const {
  database_->prefetch(record);
  if (!database_->is_whole(record)) throw_not_as_written();
}

void LmdbSource::visit_labels(int64_t most, const LabelVisit& visit) const {
  if (kind_ != RecordKind::kDatum) return;
  std::vector<float> floats;
  const auto look = [&](const Record& record) {
    try {
      visit(record, parse_datum(record.value, floats).label);
    } catch (const SampleError& error) {
      check_unchanged();
      fail(record, error);
    }
  };
  LmdbCursor cursor(database_);
  const int64_t n = records();
  for (int64_t i = 0; i < std::min(n, most); ++i)
    look(n <= most ? cursor.locate_next() : database_->record_near((double(i) + 0.5) / double(most)));
  check_unchanged();
}

}  // namespace

std::shared_ptr<const DataSource> lmdb_source(std::shared_ptr<const Lmdb> database, RecordKind kind) {
  return std::make_shared<LmdbSource>(std::move(database), kind);
}

int64_t most_objects(const std::shared_ptr<const Lmdb>& database, bool passes_over_bad) {
  size_t most = 0;
  std::vector<Object> objects;
  LmdbCursor cursor(database);
  for (int64_t i = 0; i < database->records(); ++i) {
    const Record record = cursor.locate_next();
    try {
      if (!database->is_whole(record)) throw_not_as_written();
      parse_annotated_datum(record.value, objects);
    } catch (const SampleError& error) {
      database->check_unchanged();
      if (!passes_over_bad) throw_bad_record(*database, record.key, error);
      objects.clear();
    }
    most = std::max(most, objects.size());
  }
  return int64_t(most);
}

}  // namespace cortado::data
