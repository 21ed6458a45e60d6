#pragma once

// JPEGs that cross to a device as files. What the device's decoder refuses is decoded here as ever, so damaged files
// are told of in the same words.

#include <functional>

#include "data/image/image.h"
#include "data/pipeline/batch_slab.h"
#include "kernels/jpeg_decoder.h"

namespace cortado::data {

/// Throws the Error that names the record.
using FailRecord = std::function<void(const Record& record, const SampleError& error)>;

class DeviceJpegs {
 public:
  static constexpr int kTurns = kernels::JpegDecoder::kTurns;

  /// Throws Error(kDevice) where the device has no decoder.
  DeviceJpegs(Context& context, FailRecord fail) : decoder_(context), fail_(std::move(fail)) {}
  const std::string& name() const { return decoder_.name(); }

  /// Puts into the context's work the decoding of the slab's files to their places from `to` on. Samples of those that
  /// are refused have elements of the host's afterwards, like all others. Gives how many are not. Throws what `fail`
  /// throws.
  int64_t decode(Context& context, int turn, BatchSlab& slab, std::byte* to);

 private:
  void decode_here(BatchSlab& slab, int i);

  kernels::JpegDecoder decoder_;
  FailRecord fail_;
  ImageDecoder here_;
  std::vector<kernels::JpegTask> tasks_;
  std::vector<int> samples_;  ///< of the tasks
};

}  // namespace cortado::data
