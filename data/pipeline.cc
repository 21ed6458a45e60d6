#include "data/pipeline.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/log.h"
#include "core/rng.h"
#include "data/pipeline_state.h"

namespace cortado::data {

namespace {

constexpr uint64_t kSkipKey = 0x534B4950ull;  // keeps this draw apart from others made with the same seed
constexpr int64_t kBytesAtOnce = 32768;

/// Threads are started inside: they leave the signals that people and schedulers send to the main thread.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    for (const int fault : {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP}) ::sigdelset(&all, fault);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

DataPipeline::State::State(PipelineOptions given_options)
    : options(std::move(given_options)),
      database(Lmdb::open(options.source)),
      order(database, options.shuffle, options.seed) {
  const Record record = LmdbCursor(database).next();
  try {
    SampleReader reader;
    int32_t label;
    first = reader.read(record, options.transform.color, label);
    size = output_size(options.transform, first);
    const bool encoded = first.interleaved;
    first.bytes = nullptr;
    first.floats = nullptr;
    sample_floats = int64_t(first.channels) * size.height * size.width;
    if (!encoded) at_once = int(std::clamp<int64_t>(kBytesAtOnce / (4 * sample_floats), 1, kMostSamplesAtOnce));
    at_once = std::min(at_once, (options.batch_size + options.threads - 1) / options.threads);
  } catch (const SampleError& error) {
    database->check_unchanged();
    throw_bad_record(*database, record.key, error);
  }
  if (options.rand_skip > 0) seek(Philox(mix_key(options.seed, kSkipKey))(0, 0).v[0] % options.rand_skip);
}

void DataPipeline::State::start() {
  if (slabs.empty()) {
    std::vector<Slab> made(static_cast<size_t>(options.prefetch));
    for (Slab& slab : made) {
      slab.memory = Arena(size_t(checked_mul(checked_mul(sample_floats, options.batch_size), 4)));
      slab.labels.resize(size_t(options.batch_size));
    }
    slabs = std::move(made);
  }
  const SignalsBlocked blocked;
  for (int i = 0; i < options.threads; ++i) threads.emplace_back([this] { work(); });
}

void DataPipeline::State::stop() {
  {
    const std::lock_guard lock(mutex);
    stopping = true;
  }
  work_appeared.notify_all();
  for (std::thread& thread : threads) thread.join();
  threads.clear();
  stopping = false;
}

void DataPipeline::State::seek(uint64_t position) {
  stop();
  for (Slab& slab : slabs) slab.begin(-1, 0);
  order.seek(position);
  begin_position = position;
  given = handed_out = 0;
  order_failed = false;
}

Slab& DataPipeline::State::wait_for_batch() {
  using Clock = std::chrono::steady_clock;
  Slab& slab = slabs[size_t(given % options.prefetch)];
  std::unique_lock lock(mutex);
  const auto ready = [&] { return slab.batch == given && slab.left == 0; };
  if (!ready()) {
    const Clock::time_point from = Clock::now();
    batch_ready.wait(lock, ready);
    waited += std::chrono::duration<double>(Clock::now() - from).count();
  }
  if (slab.error) std::rethrow_exception(slab.error);
  return slab;
}

void DataPipeline::State::log_restart(uint64_t from, uint64_t to) const {
  const uint64_t records = uint64_t(database->records());
  if (from / records != to / records) log_info() << "Restarting data prefetching from start.";
}

DataPipeline::DataPipeline(PipelineOptions options) : state_(std::make_unique<State>(std::move(options))) {}
DataPipeline::~DataPipeline() = default;

Shape DataPipeline::data_shape() const {
  return {state_->options.batch_size, state_->first.channels, state_->size.height, state_->size.width};
}

Shape DataPipeline::label_shape() const { return {state_->options.batch_size}; }

int64_t DataPipeline::records() const { return state_->database->records(); }

void DataPipeline::read(float* data, float* labels) {
  if (state_->threads.empty()) state_->start();
  Slab& slab = state_->wait_for_batch();
  const size_t batch = size_t(state_->options.batch_size);
  std::memcpy(data, slab.data(), batch * size_t(state_->sample_floats) * sizeof(float));
  if (labels != nullptr) std::memcpy(labels, slab.labels.data(), batch * sizeof(float));
  const uint64_t from = position();
  {
    const std::lock_guard lock(state_->mutex);
    ++state_->given;
  }
  state_->work_appeared.notify_all();
  state_->log_restart(from, position());
}

uint64_t DataPipeline::position() const {
  return state_->begin_position + uint64_t(state_->given) * uint64_t(state_->options.batch_size);
}

void DataPipeline::seek(uint64_t position) { state_->seek(position); }

double DataPipeline::wait_seconds() const { return state_->waited; }

}  // namespace cortado::data
