#pragma once

// The pipeline of a data layer: threads find, draw and decode samples ahead of time. The reader transforms a whole
// batch directly into the net's memory. Samples are stored as bytes, because floats would need four times the memory. A
// batch depends on (dataset, options, position) only, not on the number of threads.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/context.h"
#include "core/forks.h"
#include "core/tensor.h"
#include "data/augment/label_map.h"
#include "data/augment/transform.h"
#include "data/batch_share.h"
#include "data/order.h"
#include "data/source.h"
#include "proto/cortado.pb.h"

namespace cortado::data {

/// Options that are not in the layer's message.
struct DataOptions {
  caffe::Phase phase = caffe::TRAIN;
  int default_threads = 1;  ///< if data_param.threads is not set
  int data_threads = 0;     ///< --data-threads: overrides the net's; 0: not set
  int64_t skip_bad = 0;     ///< --skip-bad: the number of bad records that may be replaced, per dataset
  uint64_t seed = 1;        ///< of order and augmentation, if data_param.seed is not set
  BatchShare share = {};    ///< if several processes share one order of batches: the part of this one
};

/// The cache of decoded samples for later epochs.
enum class CacheOn { kNowhere, kHost, kDevice };

struct PipelineOptions {
  std::string source;
  std::function<std::shared_ptr<const DataSource>()> open = {};  ///< opens the dataset; if not set, the LMDB `source`
  int batch_size = 0;
  int prefetch = 4;  ///< batches that are ready or in progress, at least 1
  int threads = 1;
  Shuffle shuffle = Shuffle::kNone;
  uint64_t seed = 1;
  BatchShare share = {};  ///< from DataOptions
  CacheOn cache = CacheOn::kNowhere;
  uint32_t rand_skip = 0;  ///< start at a random record below this number
  int64_t skip_bad = 0;    ///< number of bad records that may be replaced (data/pipeline/bad_records.h)
  TransformPlan transform;
  LabelMapPlan label_map;
};

/// Owns its threads and buffers. Not thread-safe. In a child forked from its process it opens the dataset again and
/// goes on with the batch that is next in the parent.
class DataPipeline {
 public:
  /// Opens the dataset and reads its first record, which determines the shapes. Does not start threads or allocate
  /// batch memory yet. Throws Error(kData/kIo).
  explicit DataPipeline(PipelineOptions options);
  ~DataPipeline();  ///< joins at once: workers finish only their current samples

  Shape data_shape() const;   ///< batch x channels x height x width, after cropping
  Shape label_shape() const;  ///< batch, or batch x classes if samples are mixed
  int64_t records() const;    ///< of the dataset
  const DataSource& source() const;
  bool shuffles() const;                ///< the order differs from the source's
  Record record(uint64_t place) const;  ///< the record at this place of the order. Throws Error(kData)
  uint64_t place(int64_t item) const;   ///< of this sample of the latest batch of read()

  /// Writes the next batch to y (of data_shape(), in any layout that transform_batch() supports) and, if `labels` has
  /// memory, label_shape() floats to it. Both are on the context's device, which must be the same in every call. Waits
  /// until the samples are decoded. They are transformed by the context's threads or its device, whose work may still
  /// be pending on return. Throws Error(kData) with dataset, key and error; a further call throws the same. Allocates
  /// nothing after the largest samples were read.
  void read(Context& context, const Tensor& y, const Tensor& labels);

  /// The objects in each sample of the latest batch of read(); empty if records have none.
  const std::vector<std::vector<Object>>& objects() const;
  /// The label maps of these samples, if PipelineOptions::label_map is on.
  const std::vector<std::vector<int16_t>>& label_maps() const;

  /// The number of completed records of the common order, over all epochs, including those that rand_skip skipped.
  /// Snapshots save it. With a share of the batches it is exact between two periods.
  uint64_t position() const;
  /// Restarts this process's share at this position, as if all records before had been read.
  void seek(uint64_t position);
  /// The next read() returns the latest batch again.
  void repeat();

  double wait_seconds() const;  ///< total time that read() waited for data

 private:
  struct State;
  State& running();

  std::unique_ptr<State> state_;
  MadeHere made_here_;
};

/// Controls the log line "Restarting data prefetching from start.", which parsers of Caffe's logs may expect when a
/// dataset restarts: logged the first time for a context, or `all` times. Stored in the Context:
/// context.handle<RestartNotices>().
struct RestartNotices {
  bool all = false;
  bool given = false;
};

}  // namespace cortado::data
