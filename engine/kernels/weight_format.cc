#include "kernels/weight_format.h"

#include <algorithm>
#include <vector>

#include "core/device/device_memory.h"
#include "core/half.h"
#include "core/threads/threads.h"
#include "kernels/device/filters.h"

namespace cortado::kernels {

namespace {

constexpr int64_t kWeightFormatBlock = 16;

struct Blocked16 final : WeightFormat::Opaque {
  Blocked16(const Shape& shape, int64_t groups) : Blocked16(shape, groups, is_depthwise(shape, groups)) {}
  Blocked16(const Shape& shape, int64_t groups, bool depthwise)
      : groups(depthwise ? 1 : groups),
        k(shape[0] / this->groups),
        c(shape[1]),
        taps(shape.count(2)),
        c_block(depthwise ? 1 : kWeightFormatBlock) {}

  static bool is_depthwise(const Shape& shape, int64_t groups) {
    return groups > 1 && shape[0] == groups && shape[1] == 1;
  }
  int64_t k_blocks() const { return (k + kWeightFormatBlock - 1) / kWeightFormatBlock; }
  int64_t c_blocks() const { return (c + c_block - 1) / c_block; }
  int64_t bytes() const override {
    return groups * k_blocks() * c_blocks() * taps * c_block * kWeightFormatBlock * int64_t(sizeof(float));
  }
  bool equals(const Opaque& other) const override {
    const auto* same = dynamic_cast<const Blocked16*>(&other);
    return same && same->groups == groups && same->k == k && same->c == c && same->taps == taps &&
           same->c_block == c_block;
  }
  std::string name() const override { return "blocked16"; }

  void to_plain(Context& context, const void* source, float* plain) const override {
    const float* stored = static_cast<const float*>(source);
    each(context, [&](int64_t from, int64_t to) { plain[to] = stored[from]; });
  }
  void from_plain(Context& context, const float* plain, void* target) const override {
    float* stored = static_cast<float*>(target);
    if (k % kWeightFormatBlock || c % c_block) std::fill_n(stored, bytes() / int64_t(sizeof(float)), 0.0f);
    each(context, [&](int64_t to, int64_t from) { stored[to] = plain[from]; });
  }

  /// Calls body(stored index, plain index) for every element.
  template <typename Body>
  void each(Context& context, const Body& body) const {
    parallel_ranges(context, groups * k, kWeightFormatBlock, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t o = row % k, block_row = (row / k * k_blocks() + o / kWeightFormatBlock) * c_blocks();
        for (int64_t column = 0; column < c; ++column) {
          const int64_t block = (block_row + column / c_block) * taps * c_block;
          const int64_t stored = (block + column % c_block) * kWeightFormatBlock + o % kWeightFormatBlock,
                        plain = (row * c + column) * taps;
          for (int64_t tap = 0; tap < taps; ++tap) body(stored + tap * c_block * kWeightFormatBlock, plain + tap);
        }
      }
    });
  }

  int64_t groups, k, c, taps;  ///< groups with separate blocks; filters and channels of each
  int64_t c_block;             ///< channels per block
};

struct Typed final : WeightFormat::Opaque {
  explicit Typed(const FilterCopy& copy) : copy(copy) {}

  int64_t bytes() const override { return (copy.bytes() + 3) / 4 * 4; }
  bool equals(const Opaque& other) const override {
    const auto* same = dynamic_cast<const Typed*>(&other);
    return same && same->copy == copy;
  }
  std::string name() const override { return (copy.last ? "channels_last " : "") + name_of(copy.dtype); }
  DType dtype() const override { return copy.dtype; }
  bool reversible() const override { return copy.dtype == DType::kF32; }

  void to_plain(Context& context, const void* stored, float* plain) const override {
    std::vector<float> values(size_t(copy.count()));
    copy_to_host(context, values.data(), stored, values.size() * sizeof(float));
    for (size_t i = 0; i < values.size(); ++i) plain[copy.source(int64_t(i))] = values[i];
  }
  void from_plain(Context& context, const float* plain, void* stored) const override {
    std::vector<std::byte> host(static_cast<size_t>(bytes()));
    with_float_type(copy.dtype, [&](auto type) {
      auto* values = reinterpret_cast<decltype(type)*>(host.data());
      parallel_ranges(context, copy.count(), 1 << 16, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) values[i] = plain[copy.source(i)];
      });
    });
    copy_to_device(context, stored, host.data(), host.size());
  }

  FilterCopy copy;
};

}  // namespace

WeightFormat WeightFormat::blocked16(const Shape& shape, int64_t groups) {
  return WeightFormat(shape, std::make_shared<Blocked16>(shape, groups));
}

WeightFormat WeightFormat::of_type(const Shape& shape, DType dtype, bool channels_last) {
  const int64_t k = shape.axes() > 0 ? shape[0] : 1, c = shape.axes() > 1 ? shape[1] : 1;
  const int64_t taps = shape.count() / std::max<int64_t>(1, k * c);
  const FilterCopy copy{k, c, taps, channels_last && taps > 1 && c > 1, dtype};
  return copy.differs() ? WeightFormat(shape, std::make_shared<Typed>(copy)) : WeightFormat(shape);
}

bool WeightFormat::is_blocked16() const { return dynamic_cast<const Blocked16*>(opaque_.get()) != nullptr; }

const FilterCopy* WeightFormat::as_copy() const {
  const auto* typed = dynamic_cast<const Typed*>(opaque_.get());
  return typed ? &typed->copy : nullptr;
}

int64_t WeightFormat::bytes() const { return opaque_ ? opaque_->bytes() : shape_.count() * int64_t(sizeof(float)); }

bool WeightFormat::operator==(const WeightFormat& other) const {
  if (shape_ != other.shape_) return false;
  if (is_plain() || other.is_plain()) return is_plain() == other.is_plain();
  return opaque_->equals(*other.opaque_);
}

void WeightFormat::to_plain(Context& context, const void* stored, float* plain) const {
  if (opaque_) return opaque_->to_plain(context, stored, plain);
  copy_to_host(context, plain, stored, size_t(bytes()));
}

void WeightFormat::from_plain(Context& context, const float* plain, void* stored) const {
  if (opaque_) return opaque_->from_plain(context, plain, stored);
  copy_to_device(context, stored, plain, size_t(bytes()));
}

}  // namespace cortado::kernels
