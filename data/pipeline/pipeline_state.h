#pragma once

// The implementation of DataPipeline, shared by pipeline.cc (start and stop), pipeline_read.cc (the reader's side) and
// pipeline_work.cc (the workers). Workers take a few samples at a time, in order of position, under one lock. They read
// samples outside the lock, each into its own place of the batch's slab. On the CPU a raw record is not copied: the
// sample is a view of the mapped file. A ring of slabs limits how far workers run ahead. A worker's exception is stored
// with its batch. If there are several, the one of the earliest sample is used, so errors do not depend on the number
// of threads.

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

/// A batch in progress.
struct Slab {
  BatchSlab content;
  int64_t batch = -1;  ///< its number, from 0
  int left = 0;        ///< number of unfinished samples
  int64_t bad = 0;     ///< index of the earliest failed sample, if `error` is set
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

/// The next samples for one worker.
struct Task {
  Slab* slab = nullptr;
  int first = 0, n = 0;  ///< indices in the batch
  int done = 0;          ///< samples to count as finished: n, or more if the order itself failed
  int64_t sample = 0;    ///< number of the first one, from 0
  Record records[kMaxSamplesAtOnce];
};

/// The state of one worker.
struct Worker {
  std::unique_ptr<SampleReader> reader;
  std::unique_ptr<RecordFinder> others;  ///< finds replacements of bad records; null until the first one
  std::vector<BadRecord> passed_over;    ///< in the current task
};

struct DataPipeline::State {
  explicit State(PipelineOptions given_options);
  ~State() { stop(); }

  void look_at_first();
  void take_shapes(const Record& record, SampleReader& reader);
  void start(Context& context, const Tensor& y);
  void choose_decoder(Context& context);
  void stop();
  void end();  ///< makes the threads return
  void restart_at(int64_t batch);
  void seek(uint64_t position);

  void work();
  bool take(Task& task, std::unique_lock<std::mutex>& lock);
  void make(const Task& task, Worker& worker);
  void make_one(const Task& task, int i, Worker& worker) const;
  void make_of(const Record& found, const Task& task, int i, SampleReader& reader) const;
  Record replacement(const Record& bad, Worker& worker) const;
  bool leaves_to_device(const Sample& whole, const AugmentParams& params, const SampleReader& reader) const;
  SamplePart part_for(const SourceWindow& window, const Record& record, const Task& task, int i,
                      SampleReader& reader) const;

  /// The place in the common order of this process's sample number `sample`, counted from begin_position.
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
  Sample first;  ///< only its shape
  OutputSize size{};
  bool encoded = false;      ///< the first record is encoded
  int64_t window_bytes = 0;  ///< approximate size of the first sample
  int at_once = 1;

  bool here = true;                          ///< true: transform() runs on the CPU; false: on `device`
  std::unique_ptr<const SampleCache> cache;  ///< null: no cache
  std::vector<Slab> slabs;
  std::optional<DeviceBatches> device;
  std::vector<std::jthread> threads;
  std::vector<std::vector<Object>> objects;  ///< of the latest batch of read()
  std::vector<std::vector<int16_t>> label_maps;
  BadRecords bad;  ///< used by the reader
  double waited = 0;
  int64_t given = 0;            ///< number of batches that read() returned
  uint64_t begin_position = 0;  ///< in the common order: the start of this share

  std::mutex mutex;  ///< protects all members below, and the slabs' counts
  std::condition_variable work_appeared, batch_ready;
  RecordOrder order;
  int64_t released = 0, handed_out = 0;  ///< batches whose slab is free again; samples that workers have taken
  bool stopping = false, order_failed = false;
};

}  // namespace cortado::data
