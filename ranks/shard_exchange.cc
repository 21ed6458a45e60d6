#include "ranks/shard_exchange.h"

#include <algorithm>
#include <utility>

#include "core/signals_blocked.h"
#include "core/start_thread.h"

namespace cortado::ranks {

namespace {

const std::byte* bytes_of(const float* floats) { return reinterpret_cast<const std::byte*>(floats); }
std::byte* bytes_of(float* floats) { return reinterpret_cast<std::byte*>(floats); }

}  // namespace

ShardExchange::ShardExchange(Engine& engine, int64_t shards) : engine_(engine), context_(1) {
  for (int rank = 0; rank < engine.ranks(); ++rank) {
    blocks_.push_back(blocks_of(range_of(rank, engine.ranks(), shards)));
    all_blocks_.insert(all_blocks_.end(), blocks_.back().begin(), blocks_.back().end());
  }
  const size_t places = size_t(engine.ranks()) + 1;
  send_at_.resize(places);
  receive_at_.resize(places);
  gather_at_.resize(places);
  const SignalsBlocked blocked;
  thread_ = start_thread([this] { work(); });
}

ShardExchange::~ShardExchange() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  started_.notify_all();
}

void ShardExchange::start(const ShardSums& sums, float* to, const FloatRange& part, SliceWork* work) {
  {
    const std::lock_guard lock(mutex_);
    parts_.push_back({&sums, to, part, work});
  }
  started_.notify_all();
}

void ShardExchange::wait() {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [&] { return error_ || (parts_.empty() && !working_); });
  if (error_) std::rethrow_exception(error_);
}

void ShardExchange::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    started_.wait(lock, [&] { return stopping_ || (!parts_.empty() && !error_); });
    if (stopping_) return;
    const Part part = parts_.front();
    parts_.pop_front();
    working_ = true;
    lock.unlock();
    std::exception_ptr error;
    try {
      sum(part);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    working_ = false;
    error_ = error;
    ended_.notify_all();
  }
}

void ShardExchange::sum(const Part& part) {
  send_and_receive(part);
  add_up(part);
  if (part.work) part.work->on_sum(own_slice(part));
  for (int rank = 0; rank < engine_.ranks(); ++rank)
    gather_at_[size_t(rank) + 1] = size_t(slice(part, rank).end - part.range.begin) * sizeof(float);
  engine_.all_gather(bytes_of(part.to + part.range.begin), gather_at_);
  if (part.work) part.work->on_gathered(part.range, own_slice(part));
}

/// Of each rank, its slice of all blocks of this one, block after block.
const std::byte* ShardExchange::packed(const Part& part) {
  const size_t blocks = part.sums->blocks().size();
  if (blocks == 1) return bytes_of(part.sums->block(0) + part.range.begin);
  packed_.resize(std::max(packed_.size(), blocks * size_t(part.range.count())));
  float* to = packed_.data();
  for (int rank = 0; rank < engine_.ranks(); ++rank)
    for (size_t block = 0; block < blocks; ++block) {
      const FloatRange theirs = slice(part, rank);
      to = std::copy_n(part.sums->block(block) + theirs.begin, theirs.count(), to);
    }
  return bytes_of(packed_.data());
}

void ShardExchange::send_and_receive(const Part& part) {
  const size_t blocks = part.sums->blocks().size(), own = size_t(own_slice(part).count()) * sizeof(float);
  for (int rank = 0; rank < engine_.ranks(); ++rank) {
    const size_t r = size_t(rank);
    send_at_[r + 1] = blocks * size_t(slice(part, rank).end - part.range.begin) * sizeof(float);
    receive_at_[r + 1] = receive_at_[r] + blocks_[r].size() * own;
  }
  received_.resize(std::max(received_.size(), receive_at_.back() / sizeof(float)));
  engine_.all_to_all(packed(part), send_at_, bytes_of(received_.data()), receive_at_);
}

/// Piece by piece, so that what is added several times is in the cache meanwhile.
void ShardExchange::add_up(const Part& part) {
  constexpr int64_t kPiece = 1 << 12;
  const FloatRange own = own_slice(part);
  for (int64_t begin = 0; begin < own.count(); begin += kPiece) {
    const int64_t n = std::min(kPiece, own.count() - begin);
    const auto block = [&](size_t i) { return received_.data() + int64_t(i) * own.count() + begin; };
    fold(all_blocks_, [&](size_t to, size_t from) { add_floats(context_, block(to), block(from), n); });
    std::copy_n(block(0), n, part.to + own.begin + begin);
  }
}

}  // namespace cortado::ranks
