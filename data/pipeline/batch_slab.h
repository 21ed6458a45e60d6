#pragma once

// One batch before it is transformed: its samples as they were decoded, what was drawn for each, and the memory they
// lie in. That is one block, so a device gets it in one copy:
//   head (only where a device is to have it): RawSample, AugmentParams and label of each sample, and what mixes pairs
//   elements of samples, in the order in which threads asked for room
// What finds no room gets memory of its own, and the block is larger the next time. JPEGs that the device is to decode
// are no part of the block: its decoder copies them itself.

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

/// A sample, ready to be transformed.
struct ReadySample {
  Sample sample;
  AugmentParams params;  ///< fitted to the sample
  float label = 0;
  std::vector<Object> objects;  ///< as the result shows them

  std::string file;       ///< a JPEG that a device is to decode as a whole; the sample has no elements then. Else ""
  Record record;          ///< that the file is from
  size_t decoded_at = 0;  ///< BatchSlab::place_files()
};

class BatchSlab {
 public:
  BatchSlab() = default;
  BatchSlab(const BatchSlab&) = delete;

  /// Room for `n` samples of about `bytes_each`.
  void prepare(Context& context, int n, int64_t bytes_each, bool for_device);

  std::vector<ReadySample> samples;
  std::vector<MixParams> mixes;  ///< of pairs, where there is mixing
  std::vector<float> labels;     ///< all of them in one piece

  /// Memory for sample `i`, from any thread; it lasts until begin().
  uint8_t* take(int i, size_t bytes);
  void begin() { used_.store(head_bytes_, std::memory_order_relaxed); }

  /// Between batches, where some samples found no room: makes it. The content is lost.
  void grow(Context& context);

  /// Gives each file a place, ReadySample::decoded_at, for what it decodes to; the bytes that all of them take.
  size_t place_files();

  /// For a device: brings all elements into the block, which may move.
  void gather(Context& context);
  /// For a device, after gather(): writes the head. What is to be copied is [block(), block() + block_bytes()). Where
  /// the device has samples already, these count from `dataset` on and are left where they are; the places of files
  /// count from `decoded` bytes behind the place on the device that the block is copied to.
  void pack(const std::byte* dataset, int64_t decoded);
  const std::byte* block() const { return block_.data(); }
  size_t block_bytes() const { return std::min(used_.load(std::memory_order_relaxed), block_.bytes()); }
  size_t capacity() const { return block_.bytes(); }

  /// Where the parts of a packed block are, once it lies at `at`.
  RawBatch raw_batch(const std::byte* at) const;
  const float* packed_labels(const std::byte* at) const;
  const MixParams* packed_mixes(const std::byte* at) const;

 private:
  size_t params_at() const;
  size_t labels_at() const;
  size_t mixes_at() const;

  PinnedMemory block_;
  size_t head_bytes_ = 0;
  std::atomic<size_t> used_ = 0;           ///< of the block, or more than it has
  std::vector<std::vector<uint8_t>> own_;  ///< per sample
};

}  // namespace cortado::data
