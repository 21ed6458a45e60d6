#include "data/pipeline/device_jpegs.h"

#include <algorithm>

namespace cortado::data {

int64_t DeviceJpegs::decode(Context& context, int turn, BatchSlab& slab, std::byte* to) {
  tasks_.clear();
  samples_.clear();
  for (size_t i = 0; i < slab.samples.size(); ++i) {
    const ReadySample& ready = slab.samples[i];
    if (ready.file.empty()) continue;
    tasks_.push_back({ready.file, reinterpret_cast<uint8_t*>(to + ready.decoded_at), ready.sample.width});
    samples_.push_back(int(i));
  }
  if (tasks_.empty()) return 0;
  std::vector<size_t> refused = decoder_.decode(context, turn, tasks_);
  std::sort(refused.begin(), refused.end());  // if there are several errors, the first sample's is reported
  for (const size_t task : refused) decode_here(slab, samples_[task]);
  return int64_t(tasks_.size() - refused.size());
}

/// Decodes like a worker of the pipeline.
void DeviceJpegs::decode_here(BatchSlab& slab, int i) {
  ReadySample& ready = slab.samples[size_t(i)];
  try {
    here_.open(ready.file, ColorMode::kColor);
    ready.params.fitted = false;  // was for the whole image, which changed nothing else
    const SamplePart part =
        here_.read(source_window(ready.params), [&slab, i](size_t bytes) { return slab.take(i, bytes); });
    ready.sample = part.sample;
    ready.params = resolve_params(ready.params, part.sample, part.part);
    ready.file.clear();
  } catch (const SampleError& error) {
    fail_(ready.record, error);
  }
}

}  // namespace cortado::data
