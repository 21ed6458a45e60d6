#pragma once

// The inside of a DataPipeline, shared by pipeline.cc (its life), pipeline_read.cc (the reader's side) and
// pipeline_work.cc (the workers'). Work is handed out under one lock, a few samples at a time and in order of position;
// samples are made outside of it, each in its own place of its batch's slab. On the CPU a raw record is not even
// copied: the sample is a view of the mapped file. A ring of slabs bounds how far ahead the workers run. An exception
// of a worker stays with its batch; of several the one of the earliest sample wins, so even errors do not depend on the
// number of threads.

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "data/order.h"
#include "data/pipeline/bad_records.h"
#include "data/pipeline/batch_slab.h"
#include "data/pipeline/device_batches.h"
#include "data/pipeline/pipeline.h"
#include "data/pipeline/sample_cache.h"
#include "data/source.h"

namespace cortado::data {

constexpr int kMaxSamplesAtOnce = 16;

/// One batch being made.
struct Slab {
  BatchSlab content;
  int64_t batch = -1;  ///< which one, counted from the start
  int left = 0;        ///< samples not yet made
  int64_t bad = 0;     ///< the earliest sample that failed, if `error`
  std::exception_ptr error;
  std::vector<BadRecord> passed_over;

  void begin(int64_t number, int samples) {
    batch = number;
    left = samples;
    error = nullptr;
    passed_over.clear();
    content.begin();
  }
  void note_error(int64_t sample, std::exception_ptr what) {
    if (error && bad <= sample) return;
    error = std::move(what);
    bad = sample;
  }
};

/// Samples that one worker makes next.
struct Task {
  Slab* slab = nullptr;
  int first = 0, n = 0;  ///< within the batch
  int done = 0;          ///< how many count as made afterwards: n, or more where the order itself failed
  int64_t sample = 0;    ///< the first, counted from the start
  Record records[kMaxSamplesAtOnce];
};

/// What one worker keeps for itself.
struct Worker {
  std::unique_ptr<SampleReader> reader;
  std::unique_ptr<RecordFinder> others;  ///< for those that stand in for bad ones; null until there is one
  std::vector<BadRecord> passed_over;    ///< of the task at hand
};

struct DataPipeline::State {
  explicit State(PipelineOptions given_options);
  ~State() { stop(); }

  void look_at_first();
  void take_shapes(const Record& record, SampleReader& reader);
  void start(Context& context, const Tensor& y);
  void choose_decoder(Context& context);
  void stop();
  void restart_at(int64_t batch);
  void seek(uint64_t position);

  void work();
  bool take(Task& task, std::unique_lock<std::mutex>& lock);
  void make(const Task& task, Worker& worker);
  void make_one(const Task& task, int i, Worker& worker) const;
  void make_of(const Record& record, const Task& task, int i, SampleReader& reader) const;
  Record replacement(const Record& bad, Worker& worker) const;
  bool leaves_to_device(const Sample& whole, const AugmentParams& params, const SampleReader& reader) const;
  SamplePart part_for(const SourceWindow& window, const Record& record, const Task& task, int i,
                      SampleReader& reader) const;

  /// Where the `sample`th that this process takes, counted from begin_position, stands in the common order.
  uint64_t place(int64_t sample) const {
    const int64_t batch = options.batch_size;
    return begin_position + uint64_t(options.share.batch(sample / batch) * batch + sample % batch);
  }
  Slab& slab_of(int64_t batch) { return slabs[size_t(batch % options.prefetch)]; }
  bool is_ready(int64_t batch);
  Slab& wait_for_batch();
  void release(Context& context);
  void draw_mixes(Slab& slab) const;
  void read_here(Context& context, const Tensor& y, const Tensor& labels);
  void read_on_device(Context& context, const Tensor& y, const Tensor& labels);
  void take_objects(const Slab& slab);
  void log_restart(Context& context, uint64_t from, uint64_t to) const;

  const PipelineOptions options;
  const std::shared_ptr<const DataSource> source;
  Sample first;  ///< its shape only
  OutputSize size{};
  bool encoded = false;      ///< the first record has to be decoded
  int64_t window_bytes = 0;  ///< of the first sample, about
  int at_once = 1;

  bool here = true;                          ///< transform() makes batches, on the CPU; else `device` does
  std::unique_ptr<const SampleCache> cache;  ///< null: none
  std::vector<Slab> slabs;
  std::optional<DeviceBatches> device;
  std::vector<std::jthread> threads;
  std::vector<std::vector<Object>> objects;  ///< of the batch that read() gave last
  BadRecords bad;                            ///< the reader's
  double waited = 0;
  int64_t given = 0;            ///< batches that read() gave
  uint64_t begin_position = 0;  ///< of the common order: where this share of it began

  std::mutex mutex;  ///< guards everything below, and the slabs' counts
  std::condition_variable work_appeared, batch_ready;
  RecordOrder order;
  int64_t released = 0, handed_out = 0;  ///< batches whose slab is free again; samples that workers took
  bool stopping = false, order_failed = false;
};

}  // namespace cortado::data
