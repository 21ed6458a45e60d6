// Reorg: rearranges positions into channels, in the order of YOLO v2's passthrough layer in darknet, its ports to Caffe
// and OpenCV. With s = stride, N x C x H x W becomes N x (C s s) x (H / s) x (W / s).
//
// The order differs from what the shapes suggest. It interprets the memory of x as N x D x (H s) x (W s), with D = C /
// (s s), and the memory of y as N x C x H x W, which is then used with the shape of y:
//   y[n][(i s + j) D + d][h][w] = x[n][d][h s + i][w s + j]
// reverse: the opposite direction. N x C x H x W becomes N x D x (H s) x (W s) by the same equation with x and y
// exchanged. It is the inverse of a Reorg with a bottom of this shape, not of one with a top of this shape.

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/loops/permutation.h"
#include "layers/registry.h"

namespace cortado {

namespace {

class ReorgLayer : public PermutingLayer {
 public:
  explicit ReorgLayer(const LayerOptions& options)
      : stride_(options.config.reorg_param().stride()), reverse_(options.config.reorg_param().reverse()) {
    if (stride_ == 0)
      throw FieldError(kField, options.config.reorg_param().has_stride() ? "stride is 0" : "stride is missing",
                       "set the side of a block of positions; YOLO v2 uses 2");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    const Shape& s = x[0];
    if (s.axes() != 4) throw FieldError("bottom[0]", "its shape is " + s.str() + "; Reorg needs N x C x H x W");
    const bool divides = stride_ <= INT32_MAX && s[1] % (stride_ * stride_) == 0;  // a larger square would overflow
    if (!divides)
      refuse("its square does not divide the " + count_of(s[1], "channel", "channels") + " of bottom[0]",
             "stride^2 must divide the number of channels");
    const int64_t parts = s[1] / (stride_ * stride_);
    if (reverse_) {
      permute(Permutation({s[0], stride_, stride_, parts, s[2], s[3]}, {0, 3, 4, 1, 5, 2}));
      return {.y = {{s[0], parts, checked_mul(s[2], stride_), checked_mul(s[3], stride_)}}, .w = {}};
    }
    if (s[2] % stride_ != 0 || s[3] % stride_ != 0)
      refuse(
          "it does not divide the " + std::to_string(s[2]) + " x " + std::to_string(s[3]) + " positions of bottom[0]",
          "use images with sides that are multiples of 32 in YOLO v2");
    permute(Permutation({s[0], parts, s[2], stride_, s[3], stride_}, {0, 3, 5, 1, 2, 4}));
    return {.y = {{s[0], checked_mul(s[1], stride_ * stride_), s[2] / stride_, s[3] / stride_}}, .w = {}};
  }

 private:
  static constexpr const char* kField = "reorg_param.stride";

  [[noreturn]] void refuse(const std::string& what, const std::string& hint) const {
    throw FieldError(kField, "stride is " + std::to_string(stride_) + ", but " + what, hint);
  }

  int64_t stride_;
  bool reverse_;
};

const RegisterLayer register_reorg({
    .name = "Reorg",
    .help = "rearranges positions into channels in the order of YOLO v2",
    .options = "reorg_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<ReorgLayer>,
});

}  // namespace

}  // namespace cortado
