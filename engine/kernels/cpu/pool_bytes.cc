// Maximum pooling of 8-bit integers, channels last: all channels of a position at once. A window entirely outside the
// image yields 0, as with floats.

#include <algorithm>

#include "core/threads/threads.h"
#include "kernels/pool.h"

namespace cortado::kernels {
namespace {

template <typename T>
class Bytes final : public Pool {
 public:
  explicit Bytes(const PoolRequest& request) : r_(request) {}

  std::string name() const override { return "own bytes"; }

  void forward(Context& context, const void* x, void* y, float*, void*, void*) override {
    const Shape &in = r_.x.shape, &out = r_.y.shape;
    parallel_ranges(context, out[0] * out[2], 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const T* image = static_cast<const T*>(x) + row / out[2] * in.count(1);
        T* places = static_cast<T*>(y) + row * out[3] * out[1];
        for (int64_t place = 0; place < out[3]; ++place)
          write_maxima(image, row % out[2] * r_.stride_h - r_.pad_h, place * r_.stride_w - r_.pad_w,
                       places + place * out[1]);
      }
    });
  }
  void backward(Context&, const void*, void*, const void*, void*) override {}

 private:
  /// The window starts at (top, left), which may be before the image.
  void write_maxima(const T* image, int64_t top, int64_t left, T* __restrict y) const {
    const int64_t c = r_.x.shape[1], h = r_.x.shape[2], w = r_.x.shape[3];
    const int64_t bottom = std::min(top + r_.kernel_h, h), right = std::min(left + r_.kernel_w, w);
    top = std::max<int64_t>(0, top), left = std::max<int64_t>(0, left);
    if (top >= bottom || left >= right) {
      std::fill_n(y, c, T(0));
      return;
    }
    std::copy_n(image + (top * w + left) * c, c, y);
    for (int64_t i = top; i < bottom; ++i)
      for (int64_t j = left; j < right; ++j) {
        const T* x = image + (i * w + j) * c;
        for (int64_t k = 0; k < c; ++k) y[k] = std::max(x[k], y[k]);
      }
  }

  PoolRequest r_;
};

}  // namespace

std::unique_ptr<Pool> make_pool_bytes(const PoolRequest& request, Context&, std::string& why) {
  if (request.average || request.backward || request.argmax || request.x.layout != Layout::kChannelsLast)
    return why = "only maximum pooling, channels last", nullptr;
  if (request.x.dtype == DType::kU8) return std::make_unique<Bytes<uint8_t>>(request);
  return std::make_unique<Bytes<int8_t>>(request);
}

}  // namespace cortado::kernels
