#pragma once

// Everything that is drawn at random for one sample, as a value: made on the host, copied to a device as it is, and
// enough to make the same pixels there. A draw speaks of the source's full size, whatever of it is decoded.

#include <cstdint>
#include <type_traits>

namespace cortado::data {

struct SampleDraw {
  int32_t channels = 0, height = 0, width = 0;  ///< of the source, decoded in full
  int32_t out_height = 0, out_width = 0;
  int32_t top = 0, left = 0;  ///< of the crop, in the sample
  int32_t mean_top = 0, mean_left = 0;  ///< the same, in the source
  bool mirror = false;
};

static_assert(std::is_trivially_copyable_v<SampleDraw>);

/// The part of the source that a draw reads, and the size it is brought to.
struct SourceWindow {
  int top, left, height, width;
  int out_height, out_width;
};

SourceWindow source_window(const SampleDraw& draw);

/// A rectangle of the source.
struct SourcePart {
  int top, left, height, width;
};

}  // namespace cortado::data
