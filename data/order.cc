#include "data/order.h"

#include <unistd.h>

#include <algorithm>

#include "data/file_error.h"

namespace cortado::data {

namespace {

constexpr int64_t kBlockBytes = int64_t(16) << 20;
constexpr uint64_t kPoolBlocks = 8;
constexpr double kMemoryShare = 0.6;  // of the machine's, that a file may take and still stay in the page cache

/// The machine's memory, not what is free of it just now: a resumed training has to choose the same order.
Shuffle resolve(Shuffle asked, const Lmdb& database) {
  if (asked != Shuffle::kAuto) return asked;
  const double memory = double(::sysconf(_SC_PHYS_PAGES)) * double(::sysconf(_SC_PAGESIZE));
  return double(database.bytes()) <= kMemoryShare * memory ? Shuffle::kExact : Shuffle::kBlocks;
}

}  // namespace

RecordOrder::RecordOrder(std::shared_ptr<const Lmdb> database, const OrderOptions& options)
    : database_(std::move(database)),
      cursor_(database_),
      shuffle_(resolve(options.shuffle, *database_)),
      seed_(options.seed),
      rank_(options.rank),
      ranks_(options.ranks) {
  seek(0);
}

void RecordOrder::seek(uint64_t position) {
  position_ = position;
  if (shuffle_ == Shuffle::kNone) cursor_.seek(int64_t(place(position) % uint64_t(records())));
}

Record RecordOrder::next() {
  const uint64_t n = uint64_t(records()), at = place(position_++);
  number_ = at % n;
  if (shuffle_ == Shuffle::kNone) {
    const Record record = cursor_.next();
    for (int i = 1; i < ranks_; ++i) {
      cursor_.position();
      cursor_.skip();
    }
    return record;
  }
  if (!shuffled_) begin_shuffling();
  number_ = shuffled_->at(at / n, at % n);
  return database_->record_at(places_[number_]);
}

void RecordOrder::begin_shuffling() {
  const uint64_t n = uint64_t(records());
  if (n > UINT32_MAX)
    throw file_error(ExitCode::kData, database_->path(), "too many records to shuffle",
                     "at most 4294967295; shuffle when the dataset is made");
  places_.reserve(n);
  cursor_.seek(0);
  for (uint64_t i = 0; i < n; ++i, cursor_.skip()) places_.push_back(cursor_.position());
  database_->expect_random_reads();
  if (shuffle_ == Shuffle::kExact) {
    shuffled_.emplace(n, n, 1, seed_);
    return;
  }
  const uint64_t in_block = uint64_t(std::max<int64_t>(1, kBlockBytes * int64_t(n) / database_->bytes()));
  shuffled_.emplace(n, in_block, kPoolBlocks, seed_,
                    [this](uint64_t first, uint64_t count) { read_ahead(first, count); });
}

/// A block lies in the file in one piece, or nearly, where records were written in key order; else each record is read
/// when its turn comes.
void RecordOrder::read_ahead(uint64_t first, uint64_t count) const {
  const Record from = database_->record_at(places_[first]), to = database_->record_at(places_[first + count - 1]);
  const char *begin = from.value.data(), *end = to.value.data() + to.value.size();
  if (begin < end && end - begin <= 2 * kBlockBytes) database_->read_ahead({begin, size_t(end - begin)});
}

}  // namespace cortado::data
