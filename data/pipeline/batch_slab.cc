#include "data/pipeline/batch_slab.h"

#include <cstring>

#include "core/round_up.h"

namespace cortado::data {

namespace {

constexpr size_t kBatchSlabAlign = 64;

size_t aligned(size_t bytes) { return round_up(bytes, kBatchSlabAlign); }

}  // namespace

size_t BatchSlab::params_at() const { return aligned(samples.size() * sizeof(RawSample)); }

size_t BatchSlab::labels_at() const { return params_at() + aligned(samples.size() * sizeof(AugmentParams)); }

size_t BatchSlab::mixes_at() const { return labels_at() + aligned(samples.size() * sizeof(float)); }

void BatchSlab::prepare(Context& context, int n, int64_t bytes_each, bool for_device) {
  samples.resize(size_t(n));
  mixes.resize(size_t(mix_pairs(n)));
  labels.resize(size_t(n));
  own_.resize(size_t(n));
  head_bytes_ = for_device ? mixes_at() + aligned(mixes.size() * sizeof(MixParams)) : 0;
  block_ = PinnedMemory(context, head_bytes_ + size_t(checked_mul(n, int64_t(aligned(size_t(bytes_each))))));
  begin();
}

uint8_t* BatchSlab::take(int i, size_t bytes) {
  const size_t at = used_.fetch_add(aligned(bytes), std::memory_order_relaxed);
  if (at + bytes <= block_.bytes()) return reinterpret_cast<uint8_t*>(block_.data() + at);
  std::vector<uint8_t>& own = own_[size_t(i)];
  own.resize(bytes);
  return own.data();
}

void BatchSlab::grow(Context& context) {
  const size_t wanted = used_.load(std::memory_order_relaxed);
  if (wanted <= block_.bytes()) return;
  block_ = PinnedMemory();
  block_ = PinnedMemory(context, wanted + wanted / 8);
  for (std::vector<uint8_t>& own : own_) own = {};
}

size_t BatchSlab::place_files() {
  size_t at = 0;
  for (ReadySample& ready : samples) {
    if (ready.file.empty()) continue;
    ready.decoded_at = at;
    at += aligned(size_t(ready.sample.count()));
  }
  return at;
}

void BatchSlab::gather(Context& context) {
  const size_t wanted = used_.load(std::memory_order_relaxed);
  if (wanted <= block_.bytes()) return;
  PinnedMemory larger(context, wanted + wanted / 8);
  size_t at = head_bytes_;
  for (ReadySample& ready : samples) {
    if (!ready.file.empty()) continue;
    Sample& sample = ready.sample;
    const bool floats = sample.floats != nullptr;
    const size_t bytes = size_t(sample.count()) * (floats ? sizeof(float) : 1);
    std::memcpy(larger.data() + at, floats ? static_cast<const void*>(sample.floats) : sample.bytes, bytes);
    if (floats)
      sample.floats = reinterpret_cast<const float*>(larger.data() + at);
    else
      sample.bytes = reinterpret_cast<const uint8_t*>(larger.data() + at);
    at += aligned(bytes);
  }
  block_ = std::move(larger);
}

void BatchSlab::pack(const std::byte* dataset, int64_t decoded) {
  std::byte* to = block_.data();
  const auto* base = reinterpret_cast<const uint8_t*>(dataset != nullptr ? dataset : to);
  auto* raw = reinterpret_cast<RawSample*>(to);
  auto* all_params = reinterpret_cast<AugmentParams*>(to + params_at());
  auto* numbers = reinterpret_cast<float*>(to + labels_at());
  for (const ReadySample& ready : samples) {
    const Sample& sample = ready.sample;
    const bool floats = sample.floats != nullptr;
    const uint8_t* at = floats ? reinterpret_cast<const uint8_t*>(sample.floats) : sample.bytes;
    const int64_t offset = ready.file.empty() ? at - base : decoded + int64_t(ready.decoded_at);
    *raw++ = {offset, sample.channels, sample.height, sample.width, sample.interleaved, floats};
    *all_params++ = ready.params;
    *numbers++ = ready.label;
  }
  std::copy(mixes.begin(), mixes.end(), reinterpret_cast<MixParams*>(to + mixes_at()));
}

RawBatch BatchSlab::raw_batch(const std::byte* at) const {
  RawBatch batch;
  batch.n = int(samples.size());
  batch.bytes = reinterpret_cast<const uint8_t*>(at);
  batch.samples = reinterpret_cast<const RawSample*>(at);
  batch.params = reinterpret_cast<const AugmentParams*>(at + params_at());
  return batch;
}

const float* BatchSlab::packed_labels(const std::byte* at) const {
  return reinterpret_cast<const float*>(at + labels_at());
}

const MixParams* BatchSlab::packed_mixes(const std::byte* at) const {
  return reinterpret_cast<const MixParams*>(at + mixes_at());
}

}  // namespace cortado::data
