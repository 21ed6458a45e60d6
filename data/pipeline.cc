// Work is handed out under one lock, a few samples at a time and in order of position; samples are made outside of it,
// each into its own place in its batch's slab. A ring of slabs bounds how far ahead the workers run. An exception of a
// worker stays with its batch; of several the one of the earliest sample wins, so even errors do not depend on the
// number of threads.
#include "data/pipeline.h"

#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "core/arena.h"
#include "core/error.h"
#include "core/log.h"
#include "core/rng.h"
#include "data/order.h"
#include "data/sample_reader.h"

namespace cortado::data {

namespace {

constexpr uint64_t kSkipKey = 0x534B4950ull;  // keeps this draw apart from others made with the same seed
constexpr int kMostAtOnce = 16;
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

/// One batch being made.
struct Slab {
  Arena memory;
  std::vector<float> labels;
  int64_t batch = -1;  ///< which one, counted from the start
  int left = 0;        ///< samples not yet made
  int64_t bad = 0;     ///< the earliest sample that failed, if `error`
  std::exception_ptr error;

  void begin(int64_t number, int samples) {
    batch = number;
    left = samples;
    error = nullptr;
  }
  void note_error(int64_t sample, std::exception_ptr what) {
    if (error && bad <= sample) return;
    error = std::move(what);
    bad = sample;
  }
  float* data() { return reinterpret_cast<float*>(memory.data()); }
};

/// Samples that one worker makes next.
struct Task {
  Slab* slab = nullptr;
  int first = 0, n = 0;   ///< within the batch
  int done = 0;           ///< how many count as made afterwards: n, or more where the order itself failed
  uint64_t position = 0;  ///< of the first
  Record records[kMostAtOnce];
};

}  // namespace

struct DataPipeline::State {
  explicit State(PipelineOptions given_options);
  ~State() { stop(); }

  void start();
  void stop();
  void seek(uint64_t position);
  void work();
  bool take(Task& task, std::unique_lock<std::mutex>& lock);
  void make(const Task& task, SampleReader& reader);
  void make_one(const Record& record, uint64_t position, SampleReader& reader, float* out, float* label) const;
  Slab& wait_for_batch();
  void log_restart(uint64_t from, uint64_t to) const;

  const PipelineOptions options;
  const std::shared_ptr<const Lmdb> database;
  Sample first;  ///< its shape only
  OutputSize size{};
  int64_t sample_floats = 0;
  int at_once = 1;

  std::vector<Slab> slabs;
  std::vector<std::thread> threads;
  double waited = 0;

  std::mutex mutex;  ///< guards everything below, and the slabs' counts
  std::condition_variable work_appeared, batch_ready;
  RecordOrder order;
  uint64_t begin_position = 0;        ///< of batch 0
  int64_t given = 0, handed_out = 0;  ///< batches that read() gave; samples that workers took
  bool stopping = false, order_failed = false;
};

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
    if (!encoded) at_once = int(std::clamp<int64_t>(kBytesAtOnce / (4 * sample_floats), 1, kMostAtOnce));
    at_once = std::min(at_once, (options.batch_size + options.threads - 1) / options.threads);
  } catch (const SampleError& error) {
    database->check_unchanged();
    throw_bad_record(*database, record.key, error);
  }
  if (options.rand_skip > 0) seek(Philox(mix_key(options.seed, kSkipKey))(0, 0).v[0] % options.rand_skip);
}

void DataPipeline::State::start() {
  if (slabs.empty()) {
    slabs.resize(size_t(options.prefetch));
    for (Slab& slab : slabs) {
      slab.memory = Arena(size_t(checked_mul(checked_mul(sample_floats, options.batch_size), 4)));
      slab.labels.resize(size_t(options.batch_size));
    }
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

bool DataPipeline::State::take(Task& task, std::unique_lock<std::mutex>& lock) {
  const int64_t batch_size = options.batch_size;
  work_appeared.wait(lock,
                     [&] { return stopping || (!order_failed && handed_out / batch_size < given + options.prefetch); });
  if (stopping) return false;
  const int64_t batch = handed_out / batch_size;
  task.slab = &slabs[size_t(batch % options.prefetch)];
  task.first = int(handed_out % batch_size);
  if (task.first == 0) task.slab->begin(batch, options.batch_size);
  task.position = begin_position + uint64_t(handed_out);
  const int wanted = std::min(at_once, options.batch_size - task.first);
  task.n = 0;
  task.done = wanted;
  try {
    for (; task.n < wanted; ++task.n) task.records[task.n] = order.next();
  } catch (...) {  // the tree is broken: nothing after this can be read
    task.slab->note_error(task.first + task.n, std::current_exception());
    task.done = options.batch_size - task.first;
    order_failed = true;
  }
  handed_out += wanted;
  return true;
}

void DataPipeline::State::make_one(const Record& record, uint64_t position, SampleReader& reader, float* out,
                                   float* label) const {
  try {
    int32_t label_value;
    const Sample sample = reader.read(record, options.transform.color, label_value);
    const OutputSize got = output_size(options.transform, sample);
    if (sample.channels != first.channels || got.height != size.height || got.width != size.width)
      throw SampleError(
          "the image is " + sample.shape_str() + ", but the dataset's first one is " + first.shape_str(),
          "images of a batch have one size: set transform_param.crop_size, or resize them when converting");
    const uint64_t records = uint64_t(database->records());
    transform(sample, options.transform, options.seed, position / records, position % records, out);
    *label = float(label_value);
  } catch (const SampleError& error) {
    throw_bad_record(*database, record.key, error);
  }
}

void DataPipeline::State::make(const Task& task, SampleReader& reader) {
  int i = 0;
  std::exception_ptr error;
  try {
    for (; i < task.n; ++i) {
      const int64_t at = task.first + i;
      make_one(task.records[i], task.position + uint64_t(i), reader, task.slab->data() + at * sample_floats,
               &task.slab->labels[size_t(at)]);
    }
  } catch (...) {
    error = std::current_exception();
  }
  try {
    database->check_unchanged();  // explains whatever else went wrong
  } catch (...) {
    error = std::current_exception();
    i = 0;
  }
  if (!error) return;
  const std::lock_guard lock(mutex);
  task.slab->note_error(task.first + i, error);
}

void DataPipeline::State::work() {
  SampleReader reader;
  Task task;
  std::unique_lock lock(mutex);
  while (take(task, lock)) {
    lock.unlock();
    make(task, reader);
    lock.lock();
    task.slab->left -= task.done;
    if (task.slab->left == 0) batch_ready.notify_one();
  }
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
