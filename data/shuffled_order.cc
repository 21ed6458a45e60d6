#include "data/shuffled_order.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/rng.h"

namespace cortado::data {

namespace {

// Each separates its draws from others with the same seed.
constexpr uint64_t kShuffleKey = 0x5348554646ull, kBlockKey = 0x424C4F434Bull;

void permute(std::vector<uint32_t>& values, uint64_t key) {
  RandomStream random(key);
  for (size_t i = values.size() - 1; i > 0; --i) std::swap(values[i], values[random.below(i + 1)]);
}

}  // namespace

ShuffledOrder::ShuffledOrder(uint64_t records, uint64_t block_records, uint64_t pool_blocks, uint64_t seed,
                             OnBlock on_block)
    : records_(records),
      block_records_(block_records),
      pool_blocks_(pool_blocks),
      seed_(seed),
      on_block_(std::move(on_block)),
      blocks_((records + block_records - 1) / block_records) {}

uint64_t ShuffledOrder::size_of_block(uint64_t block) const {
  return std::min(block_records_, records_ - block * block_records_);
}

void ShuffledOrder::begin_epoch(uint64_t epoch) {
  std::iota(blocks_.begin(), blocks_.end(), 0u);
  permute(blocks_, mix_key(mix_key(seed_, kBlockKey), epoch));
  starts_.clear();
  uint64_t start = 0;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    if (i % pool_blocks_ == 0) starts_.push_back(start);
    start += size_of_block(blocks_[i]);
  }
  starts_.push_back(start);
  epoch_ = epoch;
  pool_.reset();
}

void ShuffledOrder::announce(uint64_t pool) const {
  if (!on_block_ || pool >= pools()) return;
  const uint64_t end = std::min<uint64_t>((pool + 1) * pool_blocks_, blocks_.size());
  for (uint64_t i = pool * pool_blocks_; i < end; ++i)
    on_block_(uint64_t(blocks_[i]) * block_records_, size_of_block(blocks_[i]));
}

void ShuffledOrder::begin_pool(uint64_t pool) {
  if (!pool_ || *pool_ + 1 != pool) announce(pool);  // otherwise it was announced with the previous pool
  announce(pool + 1);
  pool_records_.clear();
  const uint64_t end = std::min<uint64_t>((pool + 1) * pool_blocks_, blocks_.size());
  for (uint64_t i = pool * pool_blocks_; i < end; ++i)
    for (uint64_t k = 0; k < size_of_block(blocks_[i]); ++k)
      pool_records_.push_back(uint32_t(blocks_[i] * block_records_ + k));
  const uint64_t key = mix_key(mix_key(seed_, kShuffleKey), *epoch_);
  permute(pool_records_, pool == 0 ? key : mix_key(key, pool));
  pool_ = pool;
}

uint64_t ShuffledOrder::at(uint64_t epoch, uint64_t index) {
  if (epoch_ != epoch) begin_epoch(epoch);
  if (!pool_ || index < starts_[*pool_] || index >= starts_[*pool_ + 1])
    begin_pool(uint64_t(std::upper_bound(starts_.begin(), starts_.end(), index) - starts_.begin() - 1));
  return pool_records_[index - starts_[*pool_]];
}

}  // namespace cortado::data
