#include "core/error.h"
#include "core/half.h"
#include "core/loops/divisor.h"
#include "core/loops/for_each.h"
#include "data/augment/augment.h"
#include "data/augment/transform_batch.h"

namespace cortado::data {

namespace {

/// The mean and the scale.
struct Normalization {
  const float* mean = nullptr;
  int64_t count = 0;  ///< number of mean values; 0: none, or a mean image of this size
  int64_t height = 0, width = 0;
  float scale = 1;

  CORTADO_HD float mean_at(const AugmentParams& params, int64_t c, int64_t x, int64_t y) const {
    if (mean == nullptr) return 0;
    if (count > 0) return mean[count == 1 ? 0 : c];
    const int64_t row = params.mean_top + (params.map[4] < 0 ? -y : y),
                  column = params.mean_left + (params.map[0] < 0 ? -x : x);
    return mean[(c * height + row) * width + column];
  }
};

/// Transforms all channels of one pixel of y.
template <typename T>
struct TransformPixel {
  RawBatch batch;
  Normalization normalization;
  int64_t channels;
  Divisor areas, widths;
  int64_t channel_step, pixel_step;
  T* y;

  CORTADO_HD void operator()(int64_t i) const {
    const int64_t area = areas.value(), n = areas.of(i), pixel = i - n * area, row = widths.of(pixel),
                  column = pixel - row * widths.value();
    const AugmentParams& params = batch.params[n];
    const RawSample& raw = batch.samples[n];
    const uint8_t* bytes = batch.bytes + raw.offset;
    const Sample sample{raw.channels,
                        raw.height,
                        raw.width,
                        raw.floats ? nullptr : bytes,
                        raw.floats ? reinterpret_cast<const float*>(bytes) : nullptr,
                        raw.interleaved};
    T* to = y + n * channels * area + pixel * pixel_step;
    for (int64_t c0 = 0; c0 < channels; c0 += 4) {
      const int count = int(channels - c0 < 4 ? channels - c0 : 4);
      float v[4];
      const bool shown = make_pixel(sample, params, column, row, int(c0), count, v);
      for (int c = 0; c < count; ++c) {
        const float mean = shown ? normalization.mean_at(params, c0 + c, column, row) : 0;
        to[(c0 + c) * channel_step] = T(shown ? (v[c] - mean) * normalization.scale : 0);
      }
    }
  }
};

}  // namespace

const std::vector<float>& mean_floats(const TransformPlan& plan) {
  return plan.mean ? plan.mean->values : plan.mean_values;
}

void transform_batch(Context& context, const RawBatch& batch, const TransformPlan& plan, const Tensor& y) {
  const Shape& shape = y.shape();
  if (y.spec.layout == Layout::kBlocked16) throw_internal("a batch is transformed into plain or channels-last storage");
  const int64_t area = shape[2] * shape[3];
  const bool channels_last = y.spec.layout == Layout::kChannelsLast;
  Normalization normalization{batch.mean, int64_t(plan.mean_values.size()), 0, 0, plan.scale};
  if (plan.mean) normalization = {batch.mean, 0, plan.mean->height, plan.mean->width, plan.scale};
  with_float_type(y.spec.dtype, [&](auto value) {
    using T = decltype(value);
    for_each(context, batch.n * area,
             TransformPixel<T>{batch, normalization, shape[1], Divisor(area), Divisor(shape[3]),
                               channels_last ? 1 : area, channels_last ? shape[1] : 1, static_cast<T*>(y.data)});
  });
}

}  // namespace cortado::data
