#include "kernels/conv.h"

#include <algorithm>
#include <sstream>

namespace cortado::kernels {

namespace {

/// first x second x extent(axis) for each spatial axis.
template <typename Extent>
Shape shape_of(const ConvShape& s, int64_t first, int64_t second, const Extent& extent) {
  std::vector<int64_t> dims = {first, second};
  for (const ConvAxis& axis : s.outer) dims.push_back(extent(axis));
  if (s.spatial_axes > 1) dims.push_back(extent(s.h));
  dims.push_back(extent(s.w));
  return Shape(dims);
}

}  // namespace

TensorSpec ConvShape::x() const {
  return {shape_of(*this, n, c, [](const ConvAxis& axis) { return axis.in; }), dtype, x_layout};
}

TensorSpec ConvShape::y() const {
  return {shape_of(*this, n, k, [](const ConvAxis& axis) { return axis.out(); }), dtype, y_layout};
}

Shape ConvShape::weight() const {
  return shape_of(*this, k, c / groups, [](const ConvAxis& axis) { return axis.kernel; });
}

int64_t ConvShape::macs() const { return checked_mul(y().shape.count(), weight().count(1)); }

bool conv_suits_blocks(int64_t c, int64_t k, int64_t groups) {
  const bool depthwise = groups == c && groups == k;
  return groups == 1 || depthwise || (c / groups % 16 == 0 && k / groups % 16 == 0);
}

bool conv_suits_plain_x(int64_t c, int64_t groups) { return groups == 1 && c <= 3; }

namespace {

void describe_axis(std::ostream& out, const ConvAxis& a) {
  out << a.in << "k" << a.kernel << "s" << a.stride << "p" << a.pad << "d" << a.dilation;
}

}  // namespace

std::string describe(const ConvRequest& request, ConvDirection direction) {
  const ConvShape& s = request.shape;
  const char* const directions[] = {"forward", "backward_data", "backward_weights"};
  std::ostringstream out;
  out << "conv " << directions[int(direction)] << " n" << s.n << " c" << s.c << " ";
  for (const ConvAxis& axis : s.outer) {
    describe_axis(out, axis);
    out << " ";
  }
  describe_axis(out, s.h);
  out << " ";
  describe_axis(out, s.w);
  out << " to " << s.k << " in " << s.groups << " " << name_of(s.x_layout) << "-" << name_of(s.y_layout);
  if (s.dtype != DType::kF32) out << " " << name_of(s.dtype);
  if (request.bias) out << " bias";
  if (request.post.activation) out << " " << name_of(request.post.activation);
  if (request.post.sum) out << " sum";
  if (request.sums && direction == ConvDirection::kForward) out << " sums";
  if (request.frozen) out << " frozen";
  if (request.w_format) out << " weights " << request.w_format->name();
  return out.str();
}

Conv::Conv(const ConvRequest& request, std::unique_ptr<ConvKernel> forward, std::unique_ptr<ConvKernel> backward_data,
           std::unique_ptr<ConvKernel> backward_weights)
    : adds_(request.adds),
      has_bias_(request.bias),
      forward_(std::move(forward)),
      backward_data_(std::move(backward_data)),
      backward_weights_(std::move(backward_weights)) {}

std::string Conv::name() const {
  std::string text;
  for (const ConvKernel* kernel : {forward_.get(), backward_data_.get(), backward_weights_.get()})
    if (kernel && text.find(kernel->name()) == std::string::npos) text += (text.empty() ? "" : ", ") + kernel->name();
  return text;
}

void Conv::backward_weights(Context& context, const ConvOperands& io, void* scratch) {
  io.d.require_planned(adds_, has_bias_);
  backward_weights_->run(context, io, scratch);
}

int64_t Conv::backward_scratch() const {
  return std::max(backward_data_ ? backward_data_->scratch() : 0, backward_weights_ ? backward_weights_->scratch() : 0);
}

Layout preferred_layout(const Context& context) {
  if (context.device.is_cpu()) return Layout::kBlocked16;
  return context.precision == Precision::kFp32 ? Layout::kPlain : Layout::kChannelsLast;
}

}  // namespace cortado::kernels
