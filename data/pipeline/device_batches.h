#pragma once

// The transfer of batches to a device. There are two buffers on the device: while the net works on one batch, the next
// one is copied on a separate stream. It is transformed when the net needs it. If the device decodes JPEGs, a thread
// sends the batches, because the decoder also works on the host, and files that it rejects are decoded there.

#include <array>
#include <exception>
#include <optional>
#include <thread>

#include "core/device/device_event.h"
#include "core/device/device_memory.h"
#include "core/tensor.h"
#include "data/augment/transform.h"
#include "data/pipeline/batch_slab.h"
#include "data/pipeline/device_jpegs.h"
#include "data/pipeline/sample_cache.h"

namespace cortado::data {

class DeviceBatches {
 public:
  /// `dataset`, if not null, is copied to the device as a whole, and batches consist of its samples. Throws
  /// Error(kDevice) if it does not fit.
  DeviceBatches(Context& context, const TransformPlan& plan, const SampleCache* dataset);
  bool holds_dataset() const { return dataset_ != nullptr; }

  /// From now on the device decodes the files of slabs. Returns the decoder's name. Throws Error(kDevice) if there is
  /// none.
  const std::string& decode_jpegs(FailRecord fail);
  bool decodes_jpegs() const { return jpegs_.has_value(); }

  /// Packs the slab and starts to copy it; batch numbers are consecutive. Do not use the slab until wait_sent().
  void send(int64_t batch, BatchSlab& slab);
  bool sent(int64_t batch) const { return place_of(batch).batch == batch; }
  void wait_sent(int64_t batch);
  /// Discards the batches that were sent.
  void reset();

  /// Queues on the context: y = the transformed batch that was sent, and its labels (skipped if they have no memory),
  /// or the weights of classes if samples are mixed. Throws the exception of FailRecord for this batch.
  void transform(Context& context, int64_t batch, const BatchSlab& slab, const Tensor& y, const Tensor& labels);

 private:
  struct Place {
    DeviceMemory memory, decoded;  ///< for a slab's block, and for its decoded files
    int64_t batch = -1;
    int64_t files = 0;  ///< number of files that the device decoded
    DeviceEvent arrived, read;
    std::exception_ptr error;
  };
  Place& place_of(int64_t batch) { return places_[size_t(batch % 2)]; }
  const Place& place_of(int64_t batch) const { return places_[size_t(batch % 2)]; }

  void make_room(Place& place, DeviceMemory& memory, size_t bytes, size_t spare);
  void send_now(Place& place, BatchSlab& slab);
  void finish(const Place& place);

  Context copying_;  ///< the same device with a separate stream
  const TransformPlan& plan_;
  const SampleCache* dataset_;
  DeviceMemory mean_, dataset_memory_;
  std::array<Place, 2> places_;
  std::optional<DeviceJpegs> jpegs_;
  std::jthread sending_;  ///< uses all members above
};

}  // namespace cortado::data
