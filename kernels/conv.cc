#include "kernels/conv.h"

#include "kernels/candidates.h"

namespace cortado::kernels {

TensorSpec ConvShape::x() const {
  return {spatial_axes == 1 ? Shape{n, c, w.in} : Shape{n, c, h.in, w.in}, DType::kF32, x_layout};
}

TensorSpec ConvShape::y() const {
  return {spatial_axes == 1 ? Shape{n, k, w.out()} : Shape{n, k, h.out(), w.out()}, DType::kF32, y_layout};
}

Shape ConvShape::weight() const {
  return spatial_axes == 1 ? Shape{k, c / groups, w.kernel} : Shape{k, c / groups, h.kernel, w.kernel};
}

int64_t ConvShape::macs() const { return checked_mul(y().shape.count(), weight().count(1)); }

bool conv_suits_blocks(int64_t c, int64_t k, int64_t groups) {
  const bool depthwise = groups == c && groups == k;
  return groups == 1 || depthwise || (c / groups % 16 == 0 && k / groups % 16 == 0);
}

bool conv_suits_plain_x(int64_t c, int64_t groups) { return groups == 1 && c <= 3; }

std::unique_ptr<Conv> plan_conv(const ConvRequest& request, Context& context, std::string* refused) {
  return first_that_accepts<Conv, ConvRequest>({{"onednn", make_conv_onednn}, {"gemm", make_conv_gemm}}, request,
                                               context, refused);
}

}  // namespace cortado::kernels
