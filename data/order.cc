#include "data/order.h"

#include <numeric>

#include "core/rng.h"
#include "data/file_error.h"

namespace cortado::data {

namespace {
constexpr uint64_t kShuffleKey = 0x5348554646ull;  // keeps these draws apart from others made with the same seed
}

RecordOrder::RecordOrder(std::shared_ptr<const Lmdb> database, bool shuffle, uint64_t seed)
    : database_(std::move(database)), cursor_(database_), shuffle_(shuffle), seed_(seed) {}

void RecordOrder::seek(uint64_t position) {
  position_ = position;
  if (!shuffle_) cursor_.seek(int64_t(position % uint64_t(records())));
}

Record RecordOrder::next() {
  const uint64_t position = position_++;
  if (!shuffle_) return cursor_.next();
  const uint64_t n = uint64_t(records());
  if (places_.empty()) read_places();
  if (shuffled_epoch_ != position / n) shuffle_epoch(position / n);
  return database_->record_at(places_[permutation_[position % n]]);
}

void RecordOrder::read_places() {
  const uint64_t n = uint64_t(records());
  if (n > UINT32_MAX)
    throw file_error(ExitCode::kData, database_->path(), "too many records to shuffle",
                     "at most 4294967295; shuffle when the dataset is made");
  places_.reserve(n);
  permutation_.resize(n);
  cursor_.seek(0);
  for (uint64_t i = 0; i < n; ++i, cursor_.skip()) places_.push_back(cursor_.position());
  database_->expect_random_reads();
}

void RecordOrder::shuffle_epoch(uint64_t epoch) {
  std::iota(permutation_.begin(), permutation_.end(), 0u);
  RandomStream random(mix_key(mix_key(seed_, kShuffleKey), epoch));
  for (size_t i = permutation_.size() - 1; i > 0; --i) std::swap(permutation_[i], permutation_[random.below(i + 1)]);
  shuffled_epoch_ = epoch;
}

}  // namespace cortado::data
