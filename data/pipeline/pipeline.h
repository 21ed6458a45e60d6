#pragma once

// The pipeline of a data layer: plain threads find, draw and decode samples ahead of need; the reader transforms a
// batch as a whole, straight into the net's memory. Kept are bytes, where floats would be four times as much.
// A batch is a function of (dataset, options, position) alone: any number of threads gives the same bytes.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/context.h"
#include "core/tensor.h"
#include "data/augment/transform.h"
#include "data/batch_share.h"
#include "data/order.h"
#include "data/source.h"
#include "proto/cortado.pb.h"

namespace cortado::data {

/// What the caller knows besides the layer's own message.
struct DataOptions {
  caffe::Phase phase = caffe::TRAIN;
  int default_threads = 1;  ///< where data_param.threads is not set
  int data_threads = 0;     ///< --data-threads: instead of whatever the net says; 0: not given
  int64_t skip_bad = 0;     ///< --skip-bad: of each dataset, the bad records that others may stand in for
  uint64_t seed = 1;        ///< of order and augmentation, where data_param.seed is not set
  BatchShare share = {};    ///< where several processes share one order of batches: this one's part of it
};

/// Where decoded samples stay from epoch to epoch.
enum class CacheOn { kNowhere, kHost, kDevice };

struct PipelineOptions {
  std::string source;
  std::function<std::shared_ptr<const DataSource>()> open = {};  ///< the dataset; not set: the LMDB `source`
  int batch_size = 0;
  int prefetch = 4;  ///< batches ready or being made, at least 1
  int threads = 1;
  Shuffle shuffle = Shuffle::kNone;
  uint64_t seed = 1;
  BatchShare share = {};  ///< DataOptions'
  CacheOn cache = CacheOn::kNowhere;
  uint32_t rand_skip = 0;  ///< start at a random record below this one
  int64_t skip_bad = 0;    ///< bad records that others stand in for (data/pipeline/bad_records.h)
  TransformPlan transform;
};

/// Owns its threads and buffers. Used from one thread.
class DataPipeline {
 public:
  /// Opens the dataset and reads its first record, which gives the shapes. Starts no thread and takes no batch memory
  /// yet. Throws Error(kData/kIo).
  explicit DataPipeline(PipelineOptions options);
  ~DataPipeline();  ///< joins at once: what is being decoded is finished, nothing else is begun

  Shape data_shape() const;   ///< batch x channels x height x width, after cropping
  Shape label_shape() const;  ///< batch, or batch x classes where samples are mixed
  int64_t records() const;    ///< of the dataset
  const DataSource& source() const;
  bool shuffles() const;                ///< records do not come in the source's order
  Record record(uint64_t place) const;  ///< what stands at this place of the order. Throws Error(kData)
  uint64_t place(int64_t item) const;   ///< of this sample of the batch that read() gave last

  /// Puts the next batch into y (of data_shape(), in any storage that transform_batch() writes) and, unless it has no
  /// memory, label_shape() floats into `labels`; both on the context's device, which is the same in every call. Waits
  /// until the samples are decoded; they are transformed here, by the context's threads or by its device, whose work
  /// may not be done when this returns. Throws Error(kData) naming dataset, key and what is wrong; the same one again
  /// if called again. Allocates no more once the largest samples were met.
  void read(Context& context, const Tensor& y, const Tensor& labels);

  /// Of each sample of the batch that read() gave last, the objects that it shows; none where records have none.
  const std::vector<std::vector<Object>>& objects() const;

  /// Records of the common order that are over, over all epochs, and those that rand_skip passed over: what a snapshot
  /// keeps. With a share of the batches it is that between two of its periods.
  uint64_t position() const;
  /// This process's share begins anew at this position, as if all before it had been read.
  void seek(uint64_t position);
  /// The next read() gives the batch of the latest one again.
  void repeat();

  double wait_seconds() const;  ///< time that read() spent waiting for data, in all

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// "Restarting data prefetching from start." is logged where a dataset begins anew, which readers of Caffe's logs may
/// look for: the first time that one does for a context, or `all` times. Lives in the Context:
/// context.handle<RestartNotices>().
struct RestartNotices {
  bool all = false;
  bool given = false;
};

}  // namespace cortado::data
