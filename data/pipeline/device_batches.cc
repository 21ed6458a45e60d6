#include "data/pipeline/device_batches.h"

namespace cortado::data {

DeviceBatches::DeviceBatches(Context& context, const TransformPlan& plan, const SampleCache* dataset)
    : plan_(plan), dataset_(dataset) {
  use_device(copying_, context.device);
  if (dataset) {
    dataset_memory_ = DeviceMemory(context, dataset->bytes());
    copy_to_device(context, dataset_memory_.data(), dataset->data(), dataset->bytes());
  }
  const std::vector<float>& mean = mean_floats(plan);
  if (mean.empty()) return;
  mean_ = DeviceMemory(context, mean.size() * sizeof(float));
  copy_to_device(context, mean_.data(), mean.data(), mean_.bytes());
}

void DeviceBatches::send(int64_t batch, BatchSlab& slab) {
  slab.pack(copying_, dataset_ ? dataset_->data() : nullptr);
  Place& place = place_of(batch);
  if (place.memory.bytes() < slab.capacity()) {
    place.read.wait();  // by the transform of two batches ago
    place.memory = DeviceMemory();
    place.memory = DeviceMemory(copying_, slab.capacity());
  }
  place.read.hold_back(copying_);
  copy_to_device_later(copying_, place.memory.data(), slab.block(), slab.block_bytes());
  place.arrived.mark(copying_);
  place.batch = batch;
}

void DeviceBatches::reset() {
  synchronize(copying_);
  for (Place& place : places_) place.batch = -1;
}

void DeviceBatches::transform(Context& context, int64_t batch, const BatchSlab& slab, const Tensor& y,
                              const Tensor& labels) {
  Place& place = place_of(batch);
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
