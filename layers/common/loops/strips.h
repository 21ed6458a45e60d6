#pragma once

// Concat and Slice move strips: `rows` pieces of `width` elements each, contiguous in the part and `pitch` apart in the
// whole. For .cu files, like core/loops/for_each.h.

#include "layers/common/loops/typed.h"

namespace cortado {

namespace {

template <typename T>
struct CopyStrips {
  const T* from;
  T* to;
  int64_t start_from, start_to;  ///< of the first strip
  int64_t gap_from, gap_to;      ///< elements between the end of a strip and the start of the next
  CORTADO_HD void operator()(int64_t i, int64_t row) const {
    to[start_to + i + row * gap_to] = from[start_from + i + row * gap_from];
  }
};

template <typename T>
struct ClearStrips {
  T* to;
  int64_t start, gap;
  CORTADO_HD void operator()(int64_t i, int64_t row) const { to[start + i + row * gap] = 0; }
};

}  // namespace

/// How a tensor splits into strips along an axis: `rows` of `width`. Blocks of 16 channels split only along the
/// channels, between blocks.
struct Strips {
  int64_t rows, width;
};

inline Strips strips_of(const TensorSpec& spec, int axis) {
  if (spec.layout == Layout::kChannelsLast) return {spec.shape[0] * spec.shape.count(2), spec.shape[1]};
  return {spec.shape.count(0, axis), spec.shape.count(axis)};
}

/// The position of strips in a tensor: the first from `start` on, the others `pitch` apart, in elements.
struct StripsIn {
  const Tensor& tensor;  ///< outlives this: a copy would allocate
  int64_t start, pitch;
};

/// The number of elements in sixteen bytes if strips can be copied in such words; else 0.
inline int64_t elements_of_word(const Strips& part, const StripsIn& from, const StripsIn& to) {
  const int64_t n = 16 / size_of(from.tensor.spec.dtype);
  for (const int64_t number : {part.width, from.start, from.pitch, to.start, to.pitch})
    if (number % n != 0) return 0;
  return starts_pack(from.tensor.data) && starts_pack(to.tensor.data) ? n : 0;
}

inline void copy_strips(Context& context, const Strips& part, const StripsIn& from, const StripsIn& to) {
  const int64_t n = packs_pay(context) ? elements_of_word(part, from, to) : 0;
  if (n > 0) {
    using Word = packs::Word<16>;
    const CopyStrips<Word> words{
        from.tensor.as<const Word>(),  to.tensor.as<Word>(),       from.start / n, to.start / n,
        (from.pitch - part.width) / n, (to.pitch - part.width) / n};
    return for_each_channel(context, ChannelView{1, part.rows, part.width / n, Layout::kPlain}, words);
  }
  const ChannelView strips{1, part.rows, part.width, Layout::kPlain};
  const int64_t gap_from = from.pitch - part.width, gap_to = to.pitch - part.width;
  if (is_8_bit(from.tensor.spec.dtype))
    return for_each_channel(context, strips,
                            CopyStrips<uint8_t>{from.tensor.as<const uint8_t>(), to.tensor.as<uint8_t>(), from.start,
                                                to.start, gap_from, gap_to});
  for_each_channel_typed<CopyStrips>(context, strips, from.tensor, to.tensor, from.start, to.start, gap_from, gap_to);
}

inline void clear_strips(Context& context, const Strips& part, const StripsIn& to) {
  for_each_channel_typed<ClearStrips>(context, ChannelView{1, part.rows, part.width, Layout::kPlain}, to.tensor,
                                      to.start, to.pitch - part.width);
}

/// Concatenates the parts into `whole`, strip by strip. `strips_of_part` returns how a part splits into strips. A part
/// without memory counts as zero.
template <typename StripsOfPart>
void join_strips(Context& context, const std::vector<Tensor>& parts, StripsIn whole,
                 const StripsOfPart& strips_of_part) {
  for (const Tensor& part : parts) {
    const Strips strips = strips_of_part(part);
    if (part)
      copy_strips(context, strips, {part, 0, strips.width}, whole);
    else
      clear_strips(context, strips, whole);
    whole.start += strips.width;
  }
}

/// The inverse: writes the parts from `whole`, skipping those without memory.
template <typename StripsOfPart>
void cut_strips(Context& context, StripsIn whole, const std::vector<Tensor>& parts,
                const StripsOfPart& strips_of_part) {
  for (const Tensor& part : parts) {
    const Strips strips = strips_of_part(part);
    if (part) copy_strips(context, strips, whole, {part, 0, strips.width});
    whole.start += strips.width;
  }
}

// The same along an axis of `whole`, which the parts fill.
inline void join_parts(Context& context, const std::vector<Tensor>& parts, const Tensor& whole, int axis) {
  join_strips(context, parts, {whole, 0, strips_of(whole.spec, axis).width},
              [axis](const Tensor& part) { return strips_of(part.spec, axis); });
}
inline void cut_parts(Context& context, const Tensor& whole, const std::vector<Tensor>& parts, int axis) {
  cut_strips(context, {whole, 0, strips_of(whole.spec, axis).width}, parts,
             [axis](const Tensor& part) { return strips_of(part.spec, axis); });
}

}  // namespace cortado
