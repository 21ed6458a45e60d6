// Reorg: places become channels, in the order of elements that YOLO v2's passthrough layer has in darknet, its ports to
// Caffe and OpenCV. With s = stride, N x C x H x W becomes N x (C s s) x (H / s) x (W / s).
//
// The order is not that of the shapes. It takes x, in memory, for N x D x (H s) x (W s), D being C / (s s), and gives,
// in memory, N x C x H x W, whose values in turn are read in the shape of y:
//   y[n][(i s + j) D + d][h][w] = x[n][d][h s + i][w s + j]
// reverse: the other way, of channels places: N x C x H x W becomes N x D x (H s) x (W s) by the same equation with x
// and y exchanged. It undoes a Reorg whose bottom had this one's shape, not one whose top has it.

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
                       "it is the side of a block of places, in YOLO v2 2");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    const Shape& s = x[0];
    if (s.axes() != 4) throw FieldError("bottom[0]", "its shape is " + s.str() + "; Reorg needs N x C x H x W");
    const bool divides = stride_ <= INT32_MAX && s[1] % (stride_ * stride_) == 0;  // a larger square does not fit
    if (!divides)
      refuse("its square does not divide the " + count_of(s[1], "channel", "channels") + " of bottom[0]",
             "the order of elements is made of channels / (stride stride)");
    const int64_t parts = s[1] / (stride_ * stride_);
    if (reverse_) {
      permute(Permutation({s[0], stride_, stride_, parts, s[2], s[3]}, {0, 3, 4, 1, 5, 2}));
      return {.y = {{s[0], parts, checked_mul(s[2], stride_), checked_mul(s[3], stride_)}}, .w = {}};
    }
    if (s[2] % stride_ != 0 || s[3] % stride_ != 0)
      refuse("it does not divide the " + std::to_string(s[2]) + " x " + std::to_string(s[3]) + " places of bottom[0]",
             "images whose sides are multiples of 32 have such sizes in YOLO v2");
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
    .help = "places become channels in the order of YOLO v2",
    .options = "reorg_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<ReorgLayer>,
});

}  // namespace

}  // namespace cortado
