#include "data/pipeline/device_batches.h"

#include <tuple>

#include "core/process/signal_waiter.h"
#include "core/threads/thread_pool.h"
#include "data/pipeline/jpeg_decoding.h"

namespace cortado::data {

DeviceBatches::DeviceBatches(Context& context, const TransformPlan& plan, const SampleCache* dataset)
    : copying_({.device = context.device}), plan_(plan), dataset_(dataset) {
  if (dataset) {
    dataset_memory_ = DeviceMemory(context, dataset->bytes());
    copy_to_device(context, dataset_memory_.data(), dataset->data(), dataset->bytes());
  }
  const std::vector<float>& mean = mean_floats(plan);
  if (mean.empty()) return;
  mean_ = DeviceMemory(context, mean.size() * sizeof(float));
  copy_to_device(context, mean_.data(), mean.data(), mean_.bytes());
}

const std::string& DeviceBatches::decode_jpegs(FailRecord fail) {
  static_assert(DeviceJpegs::kTurns >= std::tuple_size_v<decltype(places_)>);
  return jpegs_.emplace(copying_, std::move(fail)).name();
}

void DeviceBatches::send(int64_t batch, BatchSlab& slab) {
  Place& place = place_of(batch);
  place.batch = batch;
  place.error = nullptr;
  if (!jpegs_) return send_now(place, slab);
  const SignalsBlocked blocked;
  sending_ = start_thread([this, &place, &slab] {
    try {
      enter(copying_);
      send_now(place, slab);
    } catch (...) {
      place.error = std::current_exception();
    }
  });
}

/// Waits until the transform of two batches ago has read the buffer before it is overwritten.
void DeviceBatches::make_room(Place& place, DeviceMemory& memory, size_t bytes, size_t spare) {
  if (memory.bytes() >= bytes) return;
  place.read.wait();
  memory = DeviceMemory();
  memory = DeviceMemory(copying_, bytes + spare);
}

void DeviceBatches::send_now(Place& place, BatchSlab& slab) {
  place.files = 0;
  if (jpegs_) {
    const size_t bytes = slab.place_files();
    make_room(place, place.decoded, bytes, bytes / 8);
    place.read.hold_back(copying_);
    place.files = jpegs_->decode(copying_, int(&place - places_.data()), slab, place.decoded.data());
  }
  slab.gather(copying_);
  make_room(place, place.memory, slab.capacity(), 0);
  slab.pack(dataset_ ? dataset_->data() : nullptr,
            reinterpret_cast<intptr_t>(place.decoded.data()) - reinterpret_cast<intptr_t>(place.memory.data()));
  place.read.hold_back(copying_);
  copy_to_device_later(copying_, place.memory.data(), slab.block(), slab.block_bytes());
  place.arrived.mark(copying_);
}

/// Waits until a batch was queued on the copying context.
void DeviceBatches::finish(const Place& place) {
  sending_ = {};
  if (place.error) std::rethrow_exception(place.error);
}

void DeviceBatches::wait_sent(int64_t batch) {
  Place& place = place_of(batch);
  finish(place);
  place.arrived.wait();
}

void DeviceBatches::reset() {
  sending_ = {};
  synchronize(copying_);
  for (Place& place : places_) place.batch = -1;
}

void DeviceBatches::transform(Context& context, int64_t batch, const BatchSlab& slab, const Tensor& y,
                              const Tensor& labels) {
  Place& place = place_of(batch);
  finish(place);
  context.handle<JpegDecoding>().on_device += place.files;
  place.arrived.hold_back(context);
  RawBatch raw = slab.raw_batch(place.memory.data());
  raw.mean = reinterpret_cast<const float*>(mean_.data());
  if (dataset_) raw.bytes = reinterpret_cast<const uint8_t*>(dataset_memory_.data());
  transform_batch(context, raw, plan_, y);
  const float* numbers = slab.packed_labels(place.memory.data());
  const MixPlan& mix = plan_.augment.mix;
  if (mix.on())
    mix_batch(context, slab.packed_mixes(place.memory.data()), y, numbers, mix.classes, labels.f32());
  else if (labels)
    copy_on_device(context, labels.data, numbers, size_t(labels.count()) * sizeof(float));
  place.read.mark(context);
}

}  // namespace cortado::data
