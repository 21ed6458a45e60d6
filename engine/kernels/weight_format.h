#pragma once

// How a weight lies in memory while it is trained. A library's fastest kernels want weights in blocks of their own;
// solvers work element by element, so they do not care, as long as w, dw and the history share one format. Files and
// users always see Caffe's order: to_plain() and from_plain() translate.

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
  /// A library's description of the storage.
  struct Opaque {
    virtual ~Opaque() = default;
    virtual int64_t bytes() const = 0;
    virtual bool equals(const Opaque& other) const = 0;
    virtual std::string name() const = 0;
    virtual DType dtype() const { return DType::kF32; }  ///< of the stored values
    /// Whether to_plain() gives back what from_plain() got. False: it must not be called.
    virtual bool reversible() const { return true; }
    virtual void to_plain(Context& context, const void* stored, float* plain) const = 0;
    /// Writes every stored byte: padding becomes zero.
    virtual void from_plain(Context& context, const float* plain, void* stored) const = 0;
  };

  /// K x C/groups x taps in K/16 x C/16 blocks (within each group, which both fill or which is the only one; padding is
  /// zero) of taps x 16 c x 16 k: what both our own kernels and libraries' can read. Where every channel is a group,
  /// K/16 blocks of taps x 16 k.
  static WeightFormat blocked16(const Shape& shape, int64_t groups);
  /// K x C x taps in `dtype`, a float type; `channels_last`: as K x taps x C. Plain where that is no other storage. A
  /// device's kernels read it in nets whose weights never change, so that no call copies anything; with 16 bits it is
  /// not reversible.
  static WeightFormat of_type(const Shape& shape, DType dtype, bool channels_last = false);

  WeightFormat() = default;                                     ///< plain, empty
  explicit WeightFormat(const Shape& shape) : shape_(shape) {}  ///< plain 32-bit floats in row-major order
  WeightFormat(const Shape& shape, std::shared_ptr<const Opaque> opaque) : shape_(shape), opaque_(std::move(opaque)) {}

  const Shape& shape() const { return shape_; }
  bool is_plain() const { return opaque_ == nullptr; }
  bool is_blocked16() const;
  const FilterCopy* as_copy() const;  ///< what of_type() was asked for, where that is not plain; else null
  bool is_reversible() const { return !opaque_ || opaque_->reversible(); }
  const Opaque* opaque() const { return opaque_.get(); }
  int64_t bytes() const;  ///< stored, padding included; a multiple of 4
  std::string name() const { return opaque_ ? opaque_->name() : "plain"; }
  DType dtype() const { return opaque_ ? opaque_->dtype() : DType::kF32; }
  bool operator==(const WeightFormat& other) const;

  /// `stored` lies where the context computes, `plain` in the host's memory.
  void to_plain(Context& context, const void* stored, float* plain) const;
  void from_plain(Context& context, const float* plain, void* stored) const;

 private:
  Shape shape_;
  std::shared_ptr<const Opaque> opaque_;
};

}  // namespace cortado::kernels
