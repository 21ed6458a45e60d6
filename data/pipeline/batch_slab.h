#pragma once

// One batch before it is transformed: its decoded samples, the draw for each, and their memory. It is one block, so it
// is copied to a device at once:
//   head (only for a device): RawSample, AugmentParams and label of each sample, and the parameters for mixing pairs
//   elements of samples, in the order in which threads allocated them
// Samples that do not fit get separate memory, and the block is enlarged for the next batch. JPEGs that the device
// decodes are not in the block, because its decoder copies them itself.

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "core/device/device_memory.h"
#include "data/augment/augment_params.h"
#include "data/augment/mix.h"
#include "data/augment/transform_batch.h"
#include "data/object.h"
#include "data/record.h"
#include "data/sample.h"

namespace cortado::data {

/// A sample that is ready to be transformed.
struct ReadySample {
  Sample sample;
  AugmentParams params;  ///< resolved for the sample
  float label = 0;
  std::vector<Object> objects;     ///< in the coordinates of the result
  std::vector<int16_t> label_map;  ///< see data/augment/label_map.h; empty without PipelineOptions::label_map

  std::string file;       ///< a JPEG that the device decodes as a whole, and the sample has no elements; otherwise ""
  Record record;          ///< the record of the file
  size_t decoded_at = 0;  ///< set by BatchSlab::place_files()
};

class BatchSlab {
 public:
  BatchSlab() = default;
  BatchSlab(const BatchSlab&) = delete;

  /// Allocates memory for `n` samples of about `bytes_each`.
  void prepare(Context& context, int n, int64_t bytes_each, bool for_device);

  std::vector<ReadySample> samples;
  std::vector<MixParams> mixes;  ///< of pairs, if samples are mixed
  std::vector<float> labels;     ///< of all samples

  /// Allocates memory for sample `i`, from any thread; valid until begin().
  uint8_t* take(int i, size_t bytes);
  void begin() { used_.store(head_bytes_, std::memory_order_relaxed); }

  /// Enlarges the block, between batches, if samples did not fit. The content is lost.
  void grow(Context& context);

  /// Assigns each file a place for its decoded elements, ReadySample::decoded_at. Returns the bytes of all of them.
  size_t place_files();

  /// For a device: moves all elements into the block, which may be reallocated.
  void gather(Context& context);
  /// For a device, after gather(): writes the head. The range to copy is [block(), block() + block_bytes()). Samples
  /// that are already on the device are addressed relative to `dataset` and not copied. The places of files are
  /// relative to the destination of the block plus `decoded` bytes.
  void pack(const std::byte* dataset, int64_t decoded);
  const std::byte* block() const { return block_.data(); }
  size_t block_bytes() const { return std::min(used_.load(std::memory_order_relaxed), block_.bytes()); }
  size_t capacity() const { return block_.bytes(); }

  /// The addresses of the parts of a packed block that was copied to `at`.
  RawBatch raw_batch(const std::byte* at) const;
  const float* packed_labels(const std::byte* at) const;
  const MixParams* packed_mixes(const std::byte* at) const;

 private:
  size_t params_at() const;
  size_t labels_at() const;
  size_t mixes_at() const;

  PinnedMemory block_;
  size_t head_bytes_ = 0;
  std::atomic<size_t> used_ = 0;           ///< of the block; may exceed its size
  std::vector<std::vector<uint8_t>> own_;  ///< per sample
};

}  // namespace cortado::data
