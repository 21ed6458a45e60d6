#pragma once

// A dataset's decoded samples in memory, so that from then on nothing is read or decoded.

#include <cstdint>
#include <memory>
#include <vector>

#include "core/arena.h"
#include "data/image/image.h"
#include "data/sample.h"
#include "data/source.h"

namespace cortado::data {

class SampleCache {
 public:
  /// Decodes every record, on `threads` threads. Throws Error(kData) naming a record that cannot be read,
  /// Error(kDevice) with the bytes when they do not fit into the memory that is free.
  SampleCache(std::shared_ptr<const DataSource> source, ColorMode mode, int threads);

  const Sample& sample(uint64_t number) const { return samples_[number]; }
  int32_t label(uint64_t number) const { return labels_[number]; }

  // All elements lie in one block, so that it can be copied as a whole.
  const std::byte* data() const { return block_.data(); }
  size_t bytes() const { return block_.bytes(); }

 private:
  int64_t measure(ColorMode mode);
  void decode(size_t first, size_t step, ColorMode mode);

  std::shared_ptr<const DataSource> source_;
  std::vector<Sample> samples_;
  std::vector<int32_t> labels_;
  std::vector<Record> records_;
  std::vector<int64_t> offsets_;
  Arena block_;
};

}  // namespace cortado::data
