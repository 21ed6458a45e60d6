#pragma once

// The inside of a DataPipeline, shared by pipeline.cc (its life, and the reader's side) and pipeline_work.cc (the
// workers'). Work is handed out under one lock, a few samples at a time and in order of position; samples are made
// outside of it, each into its own place in its batch's slab. A ring of slabs bounds how far ahead the workers run. An
// exception of a worker stays with its batch; of several the one of the earliest sample wins, so even errors do not
// depend on the number of threads.

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/arena.h"
#include "data/order.h"
#include "data/pipeline.h"
#include "data/sample_reader.h"

namespace cortado::data {

constexpr int kMostSamplesAtOnce = 16;

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
  Record records[kMostSamplesAtOnce];
};

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

}  // namespace cortado::data
