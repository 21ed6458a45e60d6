#pragma once

// Filter transforms for Winograd's algorithm: on each run in training, once for frozen weights.

#include <memory>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/threads/threads.h"
#include "kernels/conv.h"
#include "kernels/cpu/winograd/winograd.h"
#include "kernels/cpu/winograd/winograd_tiles.h"
#include "kernels/weight_format.h"

namespace cortado::kernels {

/// Transforms the filters of one direction from blocked weights (WeightFormat::blocked16) to a spectrum per group, for
/// values stored as T. Rows are channels of `from`, columns those of `to`.
template <int kOutputs, int kTaps, typename T>
class FilterTransform {
 public:
  using Transform = Winograd<kOutputs, kTaps>;
  static constexpr int kSize = Transform::kSize, kPlaces = kTaps * kTaps;
  using Kept = Form<T, kSize>;
  using Spectra = typename Kept::Pairs;
  using Word = typename Kept::Terms::Word;

  /// `turned`: from y's channels to x's, with flipped taps.
  FilterTransform(int64_t groups, int64_t from_blocks, int64_t to_blocks, bool turned)
      : groups_(groups), from_(from_blocks), to_(to_blocks), turned_(turned) {}

  int64_t group_bytes() const { return Spectra::bytes(rows(), to_); }
  int64_t bytes() const { return groups_ * group_bytes(); }
  Spectra spectrum(Word* data, int64_t group) const {
    return {data + group * group_bytes() / int64_t(sizeof(Word)), rows(), to_};
  }

  void run(Context& context, const float* w, void* to) const {
    Word* data = static_cast<Word*>(to);
    const int64_t pairs = from_ * to_;
    parallel_ranges(context, groups_ * pairs, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t group = i / pairs, to = i % pairs / from_, from = i % from_;
        const int64_t k_block = turned_ ? from : to, c_block = turned_ ? to : from, c_blocks = turned_ ? to_ : from_;
        const float* block =
            w + ((group * (pairs / c_blocks) + k_block) * c_blocks + c_block) * kPlaces * kLanes * kLanes;
        if (turned_)
          transform_turned(block, spectrum(data, group), from, to);
        else
          transform_block(block, spectrum(data, group), from, to);
      }
    });
  }

 private:
  int64_t rows() const { return from_ * kLanes / Kept::kTogether; }

  static void transform_block(const float* w, const Spectra& spectrum, int64_t from, int64_t to) {
    constexpr int kRows = kLanes / Kept::kTogether;
    for (int row = 0; row < kRows; ++row)
      for (int part = 0; part < kRegisters; ++part) {
        RegisterVec tiles[Kept::kTogether][kSize][kSize];
        for (int i = 0; i < Kept::kTogether; ++i) {
          const int c = row * Kept::kTogether + i;
          RegisterVec filter[kTaps][kTaps];
          for (int tap = 0; tap < kPlaces; ++tap)
            filter[tap / kTaps][tap % kTaps] = load<RegisterVec>(w + (tap * kLanes + c) * kLanes + part * kWidth);
          Transform::expand_weights(filter, tiles[i]);
        }
        Kept::store(spectrum, from * kRows + row, to, part, tiles);
      }
  }

  /// Like transform_block(), with flipped taps and channels of y as rows.
  static void transform_turned(const float* w, const Spectra& spectrum, int64_t from, int64_t to) {
    alignas(64) float turned[kPlaces][kLanes][kLanes];
    for (int tap = 0; tap < kPlaces; ++tap)
      transpose_block(w + tap * kLanes * kLanes, &turned[kPlaces - 1 - tap][0][0]);
    transform_block(&turned[0][0][0], spectrum, from, to);
  }

  int64_t groups_, from_, to_;
  bool turned_;
};

/// Frozen weights stored as forward's spectrum.
template <int kOutputs, int kTaps>
struct SpectrumStorage final : WeightFormat::Opaque {
  explicit SpectrumStorage(const ConvShape& s)
      : blocked(WeightFormat::blocked16(s.weight(), s.groups)),
        filters(s.groups, blocks_of(s.c / s.groups), blocks_of(s.k / s.groups), false) {}

  int64_t bytes() const override { return filters.bytes(); }
  bool equals(const Opaque& other) const override {
    const auto* same = dynamic_cast<const SpectrumStorage*>(&other);
    return same && same->blocked == blocked;
  }
  std::string name() const override { return "spectrum" + std::to_string(kOutputs) + "x" + std::to_string(kTaps); }
  bool reversible() const override { return false; }
  void to_plain(Context&, const void*, float*) const override { throw_internal("a spectrum cannot be converted back"); }
  void from_plain(Context& context, const float* plain, void* stored) const override {
    std::vector<float> w(size_t(blocked.bytes()) / sizeof(float));
    blocked.from_plain(context, plain, w.data());
    filters.run(context, w.data(), stored);
  }

  WeightFormat blocked;
  FilterTransform<kOutputs, kTaps, float> filters;
};

template <int kOutputs, int kTaps>
WeightFormat spectrum_format(const ConvShape& s) {
  return {s.weight(), std::make_shared<SpectrumStorage<kOutputs, kTaps>>(s)};
}

}  // namespace cortado::kernels
