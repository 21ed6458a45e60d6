// Our own conversions of layouts and types: per pixel and channel block, for any pair of layouts.

#include "core/threads/threads.h"
#include "kernels/cpu/floats.h"
#include "kernels/reorder.h"

namespace cortado::kernels {
namespace {

/// Element (n, c, s) of a layout is at n * image + (c / 16) * block + (c % 16) * channel + s * pixel.
struct Strides {
  int64_t image, block, channel, pixel;
};

Strides strides_of(const TensorSpec& spec) {
  const int64_t c = spec.shape.axes() > 1 ? spec.shape[1] : 1, inner = spec.shape.axes() > 2 ? spec.shape.count(2) : 1;
  switch (spec.layout) {
    case Layout::kBlocked16:
      return {(c + 15) / 16 * 16 * inner, 16 * inner, 1, 16};
    case Layout::kChannelsLast:
      return {c * inner, 16, 1, c};
    case Layout::kPlain:
      break;
  }
  return {c * inner, 16 * inner, inner, 1};
}

class Own final : public Reorder {
 public:
  explicit Own(const ReorderRequest& request)
      : from_(strides_of(request.from)),
        to_(strides_of(request.to)),
        from_type_(request.from.dtype),
        to_type_(request.to.dtype),
        pad_(request.to.layout == Layout::kBlocked16) {
    const Shape& shape = request.from.shape;
    images_ = shape.axes() > 0 ? shape[0] : 1;
    channels_ = shape.axes() > 1 ? shape[1] : 1;
    pixels_ = shape.axes() > 2 ? shape.count(2) : 1;
  }

  std::string name() const override { return "own"; }

  void run(Context& context, const void* from, void* to, void*) override {
    with_half_type(from_type_, [&](auto from_type) {
      with_half_type(to_type_, [&](auto to_type) {
        move(context, static_cast<const decltype(from_type)*>(from), static_cast<decltype(to_type)*>(to));
      });
    });
  }

 private:
  template <typename From, typename To>
  void move(Context& context, const From* from, To* to) const {
    const int64_t blocks = (channels_ + 15) / 16;
    parallel_ranges(context, images_ * blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i / blocks, block = i % blocks, width = std::min<int64_t>(16, channels_ - block * 16);
        const From* x = from + image * from_.image + block * from_.block;
        To* y = to + image * to_.image + block * to_.block;
        for (int64_t s = 0; s < pixels_; ++s) {
          for (int64_t c = 0; c < width; ++c)
            y[c * to_.channel + s * to_.pixel] = float(x[c * from_.channel + s * from_.pixel]);
          for (int64_t c = width; pad_ && c < 16; ++c) y[c + s * 16] = 0.0f;
        }
      }
    });
  }

  Strides from_, to_;
  DType from_type_, to_type_;
  bool pad_;
  int64_t images_, channels_, pixels_;
};

}  // namespace

std::unique_ptr<Reorder> make_reorder_native(const ReorderRequest& request, Context&, std::string& why) {
  if (!takes_halves(request.from.dtype, why) || !takes_halves(request.to.dtype, why)) return nullptr;
  return std::make_unique<Own>(request);
}

}  // namespace cortado::kernels
