#include "data/order.h"

#include <unistd.h>

#include <algorithm>

#include "core/error.h"

namespace cortado::data {

namespace {

constexpr int64_t kBlockBytes = int64_t(16) << 20;
constexpr uint64_t kPoolBlocks = 8;
constexpr double kMemoryShare = 0.6;  // of the machine's memory: a file up to this size stays in the page cache

/// Uses the total memory instead of the free memory, because a resumed training must choose the same order.
Shuffle resolve(Shuffle asked, const DataSource& source) {
  if (asked != Shuffle::kAuto) return asked;
  const double memory = double(::sysconf(_SC_PHYS_PAGES)) * double(::sysconf(_SC_PAGESIZE));
  return double(source.bytes()) <= kMemoryShare * memory ? Shuffle::kExact : Shuffle::kBlocks;
}

}  // namespace

RecordOrder::RecordOrder(std::shared_ptr<const DataSource> source, const OrderOptions& options)
    : source_(std::move(source)), shuffle_(resolve(options.shuffle, *source_)), seed_(options.seed) {}

Record RecordOrder::at(uint64_t place) {
  if (!finder_) begin();
  const uint64_t n = uint64_t(records());
  const uint64_t number = shuffled_ ? shuffled_->at(place / n, place % n) : place % n;
  Record record = finder_->find(number);
  record.number = number;
  return record;
}

void RecordOrder::begin() {
  const uint64_t n = uint64_t(records());
  if (shuffle_ != Shuffle::kNone && n > UINT32_MAX)
    throw file_error(ExitCode::kData, source_->path(), "too many records to shuffle",
                     "use at most 4294967295, or shuffle when the dataset is created");
  finder_ = source_->finder(shuffle_ != Shuffle::kNone);
  if (shuffle_ == Shuffle::kNone) return;
  if (shuffle_ == Shuffle::kExact) {
    shuffled_.emplace(n, n, 1, seed_);
    return;
  }
  const uint64_t in_block =
      uint64_t(std::max<int64_t>(1, kBlockBytes * int64_t(n) / std::max<int64_t>(source_->bytes(), 1)));
  shuffled_.emplace(n, in_block, kPoolBlocks, seed_,
                    [this](uint64_t first, uint64_t count) { finder_->read_ahead(first, count); });
}

}  // namespace cortado::data
