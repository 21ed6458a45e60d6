#include "ranks/shard_exchange.h"

#include <algorithm>
#include <utility>

#include "core/signals_blocked.h"
#include "core/start_thread.h"

namespace cortado::ranks {

namespace {

constexpr int64_t kLine = 16;  // floats of a cache line, which slices do not share

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

void ShardExchange::start(const ShardSums& sums, float* to, int64_t begin, int64_t end) {
  {
    const std::lock_guard lock(mutex_);
    parts_.push_back({&sums, to, begin, end});
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

/// Where the slice of `rank` begins, in floats from part.begin.
int64_t ShardExchange::cut(const Part& part, int rank) const {
  const int64_t n = part.end - part.begin;
  return rank == engine_.ranks() ? n : std::min(n, n * rank / engine_.ranks() / kLine * kLine);
}

void ShardExchange::sum(const Part& part) {
  const int me = engine_.rank();
  const int64_t slice = cut(part, me + 1) - cut(part, me);
  send_and_receive(part, slice);
  add_up(part, slice);
  for (int rank = 0; rank <= engine_.ranks(); ++rank)
    gather_at_[size_t(rank)] = size_t(cut(part, rank)) * sizeof(float);
  engine_.all_gather(bytes_of(part.to + part.begin), gather_at_);
}

/// Of each rank, its slice of all blocks of this one, block after block.
const std::byte* ShardExchange::packed(const Part& part) {
  const size_t blocks = part.sums->blocks().size();
  if (blocks == 1) return bytes_of(part.sums->block(0) + part.begin);
  packed_.resize(std::max(packed_.size(), blocks * size_t(part.end - part.begin)));
  float* to = packed_.data();
  for (int rank = 0; rank < engine_.ranks(); ++rank)
    for (size_t block = 0; block < blocks; ++block) {
      const float* from = part.sums->block(block) + part.begin;
      to = std::copy(from + cut(part, rank), from + cut(part, rank + 1), to);
    }
  return bytes_of(packed_.data());
}

void ShardExchange::send_and_receive(const Part& part, int64_t slice) {
  const size_t blocks = part.sums->blocks().size();
  for (int rank = 0; rank < engine_.ranks(); ++rank) {
    const size_t r = size_t(rank), theirs = blocks_[r].size() * size_t(slice) * sizeof(float);
    send_at_[r + 1] = blocks * size_t(cut(part, rank + 1)) * sizeof(float);
    receive_at_[r + 1] = receive_at_[r] + theirs;
  }
  received_.resize(std::max(received_.size(), receive_at_.back() / sizeof(float)));
  engine_.all_to_all(packed(part), send_at_, bytes_of(received_.data()), receive_at_);
}

void ShardExchange::add_up(const Part& part, int64_t slice) {
  const auto block = [&](size_t i) { return received_.data() + int64_t(i) * slice; };
  fold(all_blocks_, [&](size_t to, size_t from) { add_floats(context_, block(to), block(from), slice); });
  std::copy(block(0), block(0) + slice, part.to + part.begin + cut(part, engine_.rank()));
}

}  // namespace cortado::ranks
