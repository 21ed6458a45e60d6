#include "ranks/shard_exchange.h"

#include <algorithm>
#include <utility>

#include "core/process/signal_waiter.h"
#include "core/threads/thread_pool.h"

namespace cortado::ranks {

namespace {

std::byte* bytes_at(float* floats) { return reinterpret_cast<std::byte*>(floats); }

}  // namespace

ShardExchange::ShardExchange(Engine& engine, int64_t shards)
    : engine_(engine), places_(engine.rank(), engine.ranks(), shards), context_(1) {
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
  places_.set(part.range);
  send_and_receive(part);
  add_up(part);
  if (part.work) part.work->on_sum(own_slice(part));
  engine_.all_gather(bytes_at(part.to + part.range.begin), places_.gather);
  if (part.work) part.work->on_gathered(part.range, own_slice(part));
}

const std::byte* ShardExchange::packed(const Part& part) {
  const size_t blocks = part.sums->blocks().size();
  if (blocks == 1) return bytes_at(part.sums->block(0) + part.range.begin);
  packed_.resize(std::max(packed_.size(), blocks * size_t(part.range.count())));
  places_.pack(part.range, [&](int64_t to, size_t block, const FloatRange& from) {
    std::copy_n(part.sums->block(block) + from.begin, from.count(), packed_.data() + to);
  });
  return bytes_at(packed_.data());
}

void ShardExchange::send_and_receive(const Part& part) {
  received_.resize(std::max(received_.size(), places_.receive.back() / sizeof(float)));
  engine_.all_to_all(packed(part), places_.send, bytes_at(received_.data()), places_.receive);
}

/// Sums in small pieces, so that values that are added repeatedly stay in the cache.
void ShardExchange::add_up(const Part& part) {
  constexpr int64_t kPiece = 1 << 12;
  const FloatRange own = own_slice(part);
  for (int64_t begin = 0; begin < own.count(); begin += kPiece) {
    const int64_t n = std::min(kPiece, own.count() - begin);
    const auto block = [&](size_t i) { return received_.data() + int64_t(i) * own.count() + begin; };
    fold(places_.all_blocks(), [&](size_t to, size_t from) { add_floats(context_, block(to), block(from), n); });
    copy_floats(context_, part.to + own.begin + begin, block(0), n);
  }
}

}  // namespace cortado::ranks
