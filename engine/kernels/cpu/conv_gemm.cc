// Convolution as matrix products (im2col), per image and group. The column matrix has a row per (channel, kernel
// position) and a column per output position; then
//     y = w columns(x),    dw = dy columns(x)^T,    dx = col2im(w^T dy), which sums over the windows of an input.
// Accepts every request. Operands in other layouts use plain copies in scratch.

#include <algorithm>

#include "core/threads/threads.h"
#include "kernels/conv_lines.h"
#include "kernels/cpu/floats.h"
#include "kernels/cpu/post_ops_lanes.h"
#include "kernels/gemm.h"
#include "kernels/reorder.h"
#include "kernels/scratch.h"

namespace cortado::kernels {
namespace {

/// The outputs [begin, end) along the innermost axis whose input at kernel position k is inside the image.
struct Inside {
  int64_t begin, end, first;  ///< `first`: the input of output 0; may be outside

  Inside(const ConvAxis& a, int64_t k) : first(k * a.dilation - a.pad) {
    begin = first >= 0 ? 0 : (-first + a.stride - 1) / a.stride;
    end = std::min(a.out(), first >= a.in ? 0 : (a.in - 1 - first) / a.stride + 1);
    begin = std::min(begin, a.out());
    end = std::max(begin, end);
  }
};

/// A plain copy, in scratch, of an operand in another layout.
struct PlainCopy {
  std::unique_ptr<Reorder> in, out;  ///< null if the operand is plain
  int64_t offset = 0, in_scratch = 0, out_scratch = 0;

  void plan(const TensorSpec& spec, Context& context, ScratchLayout& scratch) {
    if (spec.layout == Layout::kPlain) return;
    const TensorSpec plain{spec.shape, spec.dtype, Layout::kPlain};
    offset = scratch.add(plain.bytes());
    in = plan_reorder({spec, plain}, context);
    out = plan_reorder({plain, spec}, context);
    in_scratch = scratch.add(in->scratch());
    out_scratch = scratch.add(out->scratch());
  }
  const float* load(Context& context, const float* operand, void* scratch) {
    if (!in) return operand;
    in->run(context, operand, target(nullptr, scratch), scratch_part(scratch, in_scratch));
    return target(nullptr, scratch);
  }
  float* target(float* operand, void* scratch) const {
    return in ? static_cast<float*>(scratch_part(scratch, offset)) : operand;
  }
  void store(Context& context, float* operand, void* scratch) {
    if (out) out->run(context, target(nullptr, scratch), operand, scratch_part(scratch, out_scratch));
  }
};

/// Whether the kernel is 1x1 without stride and padding, so that the column matrix is x.
bool columns_are_x(const ConvShape& s) {
  const auto is_point = [](const ConvAxis& a) { return a.kernel == 1 && a.stride == 1 && a.pad == 0; };
  return is_point(s.h) && is_point(s.w) && std::all_of(s.outer.begin(), s.outer.end(), is_point);
}

class Gemm final : public ConvKernel {
 public:
  Gemm(const ConvRequest& request, ConvDirection direction, GemmLibrary library, Context& context)
      : s_(request.shape),
        direction_(direction),
        library_(library),
        activation_(request.post.activation),
        sum_(request.post.sum),
        format_(request.w_format.value_or(WeightFormat(s_.weight()))),
        lines_(s_),
        places_(s_.y().shape.count(2)),
        rows_(s_.weight().count(1)),
        filters_(s_.k / s_.groups) {
    x_.plan(s_.x(), context, scratch_);
    y_.plan(s_.y(), context, scratch_);
    if (!format_.is_plain()) w_ = scratch_.add(s_.weight().count() * int64_t(sizeof(float)));
    if (!columns_are_x(s_)) columns_ = scratch_.add(checked_mul(rows_, places_) * int64_t(sizeof(float)));
  }

  std::string name() const override {
    const std::string product = library_ == GemmLibrary::kOpenBlas ? "openblas" : "gemm";
    return columns_are_x(s_) ? product : "im2col, " + product;
  }
  WeightFormat weight_format() const override { return format_; }
  int64_t scratch() const override { return scratch_.bytes(); }

  void run(Context& context, const ConvOperands& io, void* scratch) override {
    switch (direction_) {
      case ConvDirection::kForward:
        return forward(context, floats(io.x), floats(io.w), floats(io.bias), floats(io.y), scratch);
      case ConvDirection::kBackwardData:
        return backward_data(context, floats(io.dy), floats(io.w), floats(io.dx), scratch);
      case ConvDirection::kBackwardWeights:
        return backward_weights(context, floats(io.x), floats(io.dy), io.d, scratch);
    }
  }

 private:
  void forward(Context& context, const float* x, const float* w, const float* bias, float* y, void* scratch) {
    x = x_.load(context, x, scratch);
    w = load_w(context, w, scratch);
    float* out = y_.target(y, scratch);
    if (sum_) y_.load(context, y, scratch);
    each_group([&](int64_t group, int64_t x_at, int64_t y_at, int64_t w_at) {
      const float* columns = fill_columns(context, x + x_at, scratch);
      gemm(context, {filters_, places_, rows_}, w + w_at, columns, out + y_at, sum_ ? 1.0f : 0.0f, library_);
      finish(context, bias ? bias + group * filters_ : nullptr, out + y_at);
    });
    y_.store(context, y, scratch);
  }

  void backward_data(Context& context, const float* dy, const float* w, float* dx, void* scratch) {
    dy = y_.load(context, dy, scratch);
    w = load_w(context, w, scratch);
    float* out = x_.target(dx, scratch);
    each_group([&](int64_t, int64_t x_at, int64_t y_at, int64_t w_at) {
      float* columns = columns_are_x(s_) ? out + x_at : static_cast<float*>(scratch_part(scratch, columns_));
      gemm(context, {rows_, places_, filters_, /*transpose_a=*/true}, w + w_at, dy + y_at, columns, 0, library_);
      if (!columns_are_x(s_)) sum_columns(context, columns, out + x_at);
    });
    x_.store(context, dx, scratch);
  }

  void backward_weights(Context& context, const float* x, const float* dy, const WeightGradients& g, void* scratch) {
    x = x_.load(context, x, scratch);
    dy = y_.load(context, dy, scratch);
    if (g.bias) sum_bias(context, dy, g.bias, g.add_bias);
    if (!g.w) return;
    float* dw = format_.is_plain() ? g.w : static_cast<float*>(scratch_part(scratch, w_));
    if (!g.add_w)
      std::fill_n(dw, s_.k * rows_, 0.0f);
    else if (!format_.is_plain())
      format_.to_plain(context, g.w, dw);
    each_group([&](int64_t, int64_t x_at, int64_t y_at, int64_t w_at) {
      const float* columns = fill_columns(context, x + x_at, scratch);
      gemm(context, {filters_, rows_, places_, false, /*transpose_b=*/true}, dy + y_at, columns, dw + w_at, 1,
           library_);
    });
    if (!format_.is_plain()) format_.from_plain(context, dw, g.w);
  }

  /// Calls body(group, offset in x, offset in y, offset in w) for every image and group.
  template <typename Body>
  void each_group(const Body& body) const {
    const int64_t x_size = s_.c / s_.groups * lines_.in * s_.w.in, y_size = filters_ * places_,
                  w_size = filters_ * rows_;
    for (int64_t i = 0; i < s_.n * s_.groups; ++i) body(i % s_.groups, i * x_size, i * y_size, i % s_.groups * w_size);
  }

  const float* load_w(Context& context, const float* w, void* scratch) const {
    if (format_.is_plain()) return w;
    float* plain = static_cast<float*>(scratch_part(scratch, w_));
    format_.to_plain(context, w, plain);
    return plain;
  }

  const float* fill_columns(Context& context, const float* x, void* scratch) const {
    if (columns_are_x(s_)) return x;
    float* columns = static_cast<float*>(scratch_part(scratch, columns_));
    parallel_ranges(context, rows_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) fill_row(row, x, columns + row * places_);
    });
    return columns;
  }

  void fill_row(int64_t row, const float* x, float* to) const {
    const Inside w(s_.w, row % s_.w.kernel);
    const int64_t tap = row / s_.w.kernel, out_w = s_.w.out();
    const float* channel = x + tap / lines_.kernel * lines_.in * s_.w.in;
    std::fill_n(to, places_, 0.0f);
    for (int64_t out = 0; out < lines_.out; ++out) {
      const int64_t in = lines_.input(out, tap % lines_.kernel);
      if (in < 0) continue;
      const float* line = channel + in * s_.w.in;
      for (int64_t ow = w.begin; ow < w.end; ++ow) to[out * out_w + ow] = line[w.first + ow * s_.w.stride];
    }
  }

  void sum_columns(Context& context, const float* columns, float* dx) const {
    const int64_t kernel = lines_.kernel * s_.w.kernel, size = lines_.in * s_.w.in;
    parallel_ranges(context, s_.c / s_.groups, 1, [&](int64_t begin, int64_t end) {
      std::fill(dx + begin * size, dx + end * size, 0.0f);
      for (int64_t row = begin * kernel; row < end * kernel; ++row)
        add_row(row, columns + row * places_, dx + row / kernel * size);
    });
  }

  void add_row(int64_t row, const float* from, float* channel) const {
    const Inside w(s_.w, row % s_.w.kernel);
    for (int64_t out = 0; out < lines_.out; ++out) {
      const int64_t in = lines_.input(out, row / s_.w.kernel % lines_.kernel);
      if (in < 0) continue;
      float* line = channel + in * s_.w.in;
      for (int64_t ow = w.begin; ow < w.end; ++ow) line[w.first + ow * s_.w.stride] += from[out * s_.w.out() + ow];
    }
  }

  /// Applies bias and activation.
  void finish(Context& context, const float* bias, float* y) const {
    if (!bias && !activation_) return;
    with_activation(activation_.kind, [&](auto kind) {
      parallel_ranges(context, filters_, 1, [&](int64_t begin, int64_t end) {
        const Activation activation{kind, activation_.ceiling};
        for (int64_t k = begin; k < end; ++k) {
          const float add = bias ? bias[k] : 0;
          for (float* p = y + k * places_; p < y + (k + 1) * places_; ++p) *p = activation(*p + add);
        }
      });
    });
  }

  void sum_bias(Context& context, const float* dy, float* dbias, bool add) const {
    parallel_ranges(context, s_.k, 1, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        double sum = add ? dbias[k] : 0;
        for (int64_t n = 0; n < s_.n; ++n)
          for (int64_t i = 0; i < places_; ++i) sum += dy[(n * s_.k + k) * places_ + i];
        dbias[k] = float(sum);
      }
    });
  }

  ConvShape s_;
  ConvDirection direction_;
  GemmLibrary library_;
  Activation activation_;
  bool sum_;
  WeightFormat format_;
  ConvLines lines_;
  int64_t places_, rows_, filters_;  ///< of the column matrix; output channels per group
  PlainCopy x_, y_;
  ScratchLayout scratch_;
  int64_t w_ = 0, columns_ = 0;
};

template <GemmLibrary kLibrary>
std::unique_ptr<ConvKernel> make(const ConvRequest& request, ConvDirection direction, Context& context,
                                 std::string& why) {
  if (!takes(request.shape.dtype, why)) return nullptr;
  if (kLibrary == GemmLibrary::kOpenBlas && !suits_openblas(context, why)) return nullptr;
  return std::make_unique<Gemm>(request, direction, kLibrary, context);
}

/// With AVX-512: products at half the peak of a core, and columns written and read through memory. With AVX2: products
/// near the peak, columns and copies at a core's bandwidth, and thread synchronization per product.
double cost(const ConvRequest& request, ConvDirection direction, CpuLevel level) {
  const ConvShape& s = request.shape;
  const double columns = double(s.y().shape.count(2)) * double(s.n * s.groups * s.weight().count(1));
  if (level == CpuLevel::kAvx512) return 2 * double(s.macs()) / 1e11 + columns * 8 / 4e9;
  constexpr double kFlops[] = {6.5e10, 4.5e10, 6.5e10}, kBytes = 1.1e10, kMeeting = 3e-5;
  double moved = columns_are_x(s) ? 0 : columns;
  for (const TensorSpec& spec : {s.x(), s.y()})
    if (spec.layout != Layout::kPlain) moved += double(spec.shape.count());
  return 2 * double(s.macs()) / kFlops[int(direction)] + 8 * moved / kBytes + kMeeting * double(s.n * s.groups);
}

}  // namespace

std::vector<ConvCandidate> gemm_conv_candidates() {
  return {{"openblas", make<GemmLibrary::kOpenBlas>, cost, &CpuLevels::onednn, ConvAlgorithm::kProducts},
          {"gemm", make<GemmLibrary::kOneDnn>, cost, &CpuLevels::onednn, ConvAlgorithm::kProducts}};
}

}  // namespace cortado::kernels
