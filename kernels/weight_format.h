#pragma once

// How a weight lies in memory while it is trained. A library's fastest kernels want weights in blocks of their own; solvers
// work element by element, so they do not care, as long as w, dw and the history share one format. Files and people always
// see Caffe's order: to_plain() and from_plain() translate.

#include <cstdint>
#include <memory>
#include <string>

#include "core/context.h"
#include "core/shape.h"

namespace cortado::kernels {

class WeightFormat {
 public:
  /// A library's description of the storage.
  struct Opaque {
    virtual ~Opaque() = default;
    virtual int64_t bytes() const = 0;
    virtual bool equals(const Opaque& other) const = 0;
    virtual std::string name() const = 0;
    /// Whether to_plain() gives back what from_plain() got. False: it must not be called.
    virtual bool reversible() const { return true; }
    virtual void to_plain(Context& context, const void* stored, float* plain) const = 0;
    /// Writes every stored byte: padding becomes zero.
    virtual void from_plain(Context& context, const float* plain, void* stored) const = 0;
  };

  /// K x C/groups x taps in K/16 x C/16 blocks (within each group, which both fill or which is the only one; padding is
  /// zero) of taps x 16 c x 16 k: what both our own kernels and libraries' can read.
  static WeightFormat blocked16(const Shape& shape, int64_t groups);

  WeightFormat() = default;  ///< plain, empty
  explicit WeightFormat(const Shape& shape) : shape_(shape) {}  ///< plain 32-bit floats in row-major order
  WeightFormat(const Shape& shape, std::shared_ptr<const Opaque> opaque) : shape_(shape), opaque_(std::move(opaque)) {}

  const Shape& shape() const { return shape_; }
  bool is_plain() const { return opaque_ == nullptr; }
  bool is_blocked16() const;
  bool is_reversible() const { return !opaque_ || opaque_->reversible(); }
  const Opaque* opaque() const { return opaque_.get(); }
  int64_t bytes() const;  ///< stored, padding included; a multiple of 4
  std::string name() const { return opaque_ ? opaque_->name() : "plain"; }
  bool operator==(const WeightFormat& other) const;

  /// `stored` lies where the context computes, `plain` in the host's memory. On devices every format is plain so far.
  void to_plain(Context& context, const void* stored, float* plain) const;
  void from_plain(Context& context, const float* plain, void* stored) const;

 private:
  Shape shape_;
  std::shared_ptr<const Opaque> opaque_;
};

}  // namespace cortado::kernels
