#pragma once

// Memory formats of weights. The fastest kernels of a library need weights in their own blocked format. Solvers work
// element-wise, so any format will do if w, dw and the history share it. Files and users always see Caffe's order;
// to_plain() and from_plain() convert.

#include <cstdint>
#include <memory>
#include <string>

#include "core/context.h"
#include "core/shape.h"
#include "core/tensor.h"

namespace cortado::kernels {

struct FilterCopy;

class WeightFormat {
 public:
  /// A library's description of a format.
  struct Opaque {
    virtual ~Opaque() = default;
    virtual int64_t bytes() const = 0;
    virtual bool equals(const Opaque& other) const = 0;
    virtual std::string name() const = 0;
    virtual DType dtype() const { return DType::kF32; }  ///< type of the stored values
    /// Whether to_plain() inverts from_plain(). If false, to_plain() must not be called.
    virtual bool reversible() const { return true; }
    virtual void to_plain(Context& context, const void* stored, float* plain) const = 0;
    /// Writes every stored byte; padding becomes zero.
    virtual void from_plain(Context& context, const float* plain, void* stored) const = 0;
  };

  /// K x C/groups x taps in K/16 x C/16 blocks of taps x 16 c x 16 k, within each group; padding is zero. With more
  /// than one group, both extents must be multiples of 16 within a group. Own kernels and libraries can read it.
  /// Depthwise: K/16 blocks of taps x 16 k.
  static WeightFormat blocked16(const Shape& shape, int64_t groups);
  /// K x C x taps in `dtype`, a float type, or K x taps x C with `channels_last`. Returns the plain format if there is
  /// no difference. Device kernels read it directly in nets with frozen weights, without a conversion per call. Not
  /// reversible with 16 bits.
  static WeightFormat of_type(const Shape& shape, DType dtype, bool channels_last = false);

  WeightFormat() = default;                                     ///< plain and empty
  explicit WeightFormat(const Shape& shape) : shape_(shape) {}  ///< plain 32-bit floats in row-major order
  WeightFormat(const Shape& shape, std::shared_ptr<const Opaque> opaque) : shape_(shape), opaque_(std::move(opaque)) {}

  const Shape& shape() const { return shape_; }
  bool is_plain() const { return opaque_ == nullptr; }
  bool is_blocked16() const;
  const FilterCopy* as_copy() const;  ///< the arguments of of_type(); null if plain
  bool is_reversible() const { return !opaque_ || opaque_->reversible(); }
  const Opaque* opaque() const { return opaque_.get(); }
  int64_t bytes() const;  ///< stored bytes, including padding; a multiple of 4
  std::string name() const { return opaque_ ? opaque_->name() : "plain"; }
  DType dtype() const { return opaque_ ? opaque_->dtype() : DType::kF32; }
  bool operator==(const WeightFormat& other) const;

  /// `stored` is device memory, `plain` host memory.
  void to_plain(Context& context, const void* stored, float* plain) const;
  void from_plain(Context& context, const float* plain, void* stored) const;

 private:
  Shape shape_;
  std::shared_ptr<const Opaque> opaque_;
};

}  // namespace cortado::kernels
