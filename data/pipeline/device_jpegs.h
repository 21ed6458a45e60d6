#pragma once

// Decodes JPEG files on a device. Files that the device's decoder rejects are decoded on the host, so errors of damaged
// files have the same messages.

#include <functional>

#include "data/image/image.h"
#include "data/pipeline/batch_slab.h"
#include "kernels/jpeg_decoder.h"

namespace cortado::data {

/// Throws an Error with the record.
using FailRecord = std::function<void(const Record& record, const SampleError& error)>;

class DeviceJpegs {
 public:
  static constexpr int kTurns = kernels::JpegDecoder::kTurns;

  /// Throws Error(kDevice) if the device has no decoder.
  DeviceJpegs(Context& context, FailRecord fail) : decoder_(context), fail_(std::move(fail)) {}
  const std::string& name() const { return decoder_.name(); }

  /// Queues on the context the decoding of the slab's files to their places relative to `to`. Samples of rejected files
  /// then have elements from the host, like all others. Returns the number of files that were decoded on the device.
  /// Throws the exception of `fail`.
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
