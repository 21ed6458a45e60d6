#pragma once

// The way of batches to a device. Two places on the device take turns: while the net works on one batch the next is
// copied, by a stream of its own, and transformed when its turn comes. Where the device decodes JPEGs, a thread sends a
// batch: its decoder has work for the host, too, and what it refuses is decoded there.

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
  /// `dataset` (or null) is copied to the device as a whole, and batches consist of its samples; it stays where it is.
  /// Throws Error(kDevice) when it does not fit.
  DeviceBatches(Context& context, const TransformPlan& plan, const SampleCache* dataset);
  bool holds_dataset() const { return dataset_ != nullptr; }

  /// From now on the device decodes the files of slabs; the decoder's name. Throws Error(kDevice) where it has none.
  const std::string& decode_jpegs(FailRecord fail);
  bool decodes_jpegs() const { return jpegs_.has_value(); }

  /// Packs the slab and starts to copy it; batches are counted up by one. The slab is left alone until wait_sent().
  void send(int64_t batch, BatchSlab& slab);
  bool sent(int64_t batch) const { return place_of(batch).batch == batch; }
  void wait_sent(int64_t batch);
  /// Forgets what was sent.
  void reset();

  /// Puts into the context's work: y = the transformed batch that was sent, and its labels (without memory: not
  /// wanted), or the shares of classes where samples are mixed. Throws what FailRecord threw for this batch.
  void transform(Context& context, int64_t batch, const BatchSlab& slab, const Tensor& y, const Tensor& labels);

 private:
  struct Place {
    DeviceMemory memory, decoded;  ///< for a slab's block, and for what its files decode to
    int64_t batch = -1;
    int64_t files = 0;  ///< that the device decoded
    DeviceEvent arrived, read;
    std::exception_ptr error;
  };
  Place& place_of(int64_t batch) { return places_[size_t(batch % 2)]; }
  const Place& place_of(int64_t batch) const { return places_[size_t(batch % 2)]; }

  void make_room(Place& place, DeviceMemory& memory, size_t bytes, size_t spare);
  void send_now(Place& place, BatchSlab& slab);
  void finish(const Place& place);

  Context copying_;  ///< the same device, its own stream
  const TransformPlan& plan_;
  const SampleCache* dataset_;
  DeviceMemory mean_, dataset_memory_;
  std::array<Place, 2> places_;
  std::optional<DeviceJpegs> jpegs_;
  std::jthread sending_;  ///< uses all of the above
};

}  // namespace cortado::data
