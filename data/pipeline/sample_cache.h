#pragma once

// A dataset's decoded samples in memory. Later epochs read and decode nothing.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/arena.h"
#include "data/image/image.h"
#include "data/sample.h"
#include "data/source.h"

namespace cortado::data {

class SampleCache {
 public:
  /// Decodes every record, on `threads` threads. Throws Error(kData) with a record that cannot be read, unless
  /// `keeps_bad`; Error(kDevice) with the number of bytes if they do not fit into free memory.
  SampleCache(std::shared_ptr<const DataSource> source, ColorMode mode, int threads, bool keeps_bad = false);

  /// Throws SampleError for a record that could not be read.
  const Sample& sample(uint64_t number) const {
    if (const auto bad = bad_.find(number); bad != bad_.end()) throw bad->second;
    return samples_[number];
  }
  Label label(uint64_t number) const { return labels_[number]; }

  // All elements are in one block, so that it can be copied as a whole.
  const std::byte* data() const { return block_.data(); }
  size_t bytes() const { return block_.bytes(); }

 private:
  int64_t measure(ColorMode mode);
  void decode(size_t first, size_t step, ColorMode mode);
  bool is_bad(const Record& record);
  void note_bad(const Record& record, const SampleError& error);

  std::shared_ptr<const DataSource> source_;
  std::vector<Sample> samples_;
  std::vector<Label> labels_;
  std::vector<Record> records_;
  std::vector<int64_t> offsets_;
  Arena block_;
  const bool keeps_bad_;
  std::mutex mutex_;  ///< protects `bad_` during decoding
  std::map<uint64_t, SampleError> bad_;
};

}  // namespace cortado::data
