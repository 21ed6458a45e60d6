#pragma once

// Concat and Slice move strips: `rows` pieces of `width` elements each, which lie together in the part and a `pitch`
// apart in the whole. For .cu files, as core/for_each.h is.

#include "core/for_each.h"

namespace cortado {

namespace {

struct CopyStrips {
  const float* from;
  float* to;
  int64_t gap_from, gap_to;  ///< elements between the end of a strip and the start of the next
  CORTADO_HD void operator()(int64_t i, int64_t row) const { to[i + row * gap_to] = from[i + row * gap_from]; }
};

struct ClearStrips {
  float* to;
  int64_t gap;
  CORTADO_HD void operator()(int64_t i, int64_t row) const { to[i + row * gap] = 0; }
};

}  // namespace

/// How a tensor splits into strips along an axis: `rows` of `width`. Blocks of 16 channels split along the channels
/// only, between blocks.
struct Strips {
  int64_t rows, width;
};

inline Strips strips_of(const TensorSpec& spec, int axis) {
  if (spec.layout == Layout::kChannelsLast) return {spec.shape[0] * spec.shape.count(2), spec.shape[1]};
  return {spec.shape.count(0, axis), spec.shape.count(axis)};
}

inline void copy_strips(Context& context, const Strips& part, const float* from, int64_t pitch_from, float* to,
                        int64_t pitch_to) {
  for_each_channel(context, ChannelView{1, part.rows, part.width, Layout::kPlain},
                   CopyStrips{from, to, pitch_from - part.width, pitch_to - part.width});
}

inline void clear_strips(Context& context, const Strips& part, float* to, int64_t pitch) {
  for_each_channel(context, ChannelView{1, part.rows, part.width, Layout::kPlain}, ClearStrips{to, pitch - part.width});
}

/// Whether tensors of these shapes may be joined or cut along `axis` in any layout: along the channels, in whole
/// blocks.
inline bool whole_blocks(const std::vector<Shape>& parts, int axis) {
  for (const Shape& part : parts)
    if (part.axes() != 4 || axis != 1 || part[1] % 16 != 0) return false;
  return true;
}

}  // namespace cortado
