// Caffe's order: crop, subtract the mean (which is laid out over the image before cropping), multiply, mirror last. A
// row is converted from left to right by a loop that vectorises, and reversed in place when it is mirrored.
#include "data/transform.h"

#include <algorithm>

#include "core/error.h"
#include "core/rng.h"

namespace cortado::data {

namespace {

constexpr uint64_t kAugmentKey = 0x4155474Dull;  // keeps these draws apart from others made with the same seed

/// A word to [0, n): the bias is below n / 2^32.
int scaled(uint32_t word, int n) { return int(uint64_t(word) * uint64_t(n) >> 32); }

/// One row of one channel. `step` is the distance between neighbours; the usual ones are compile-time constants.
template <typename T, typename Step>
void convert_row(const T* x, Step step, int n, const float* mean_row, float mean, float scale, float* out) {
  if (mean_row != nullptr) {
    for (int i = 0; i < n; ++i) out[i] = (float(x[i * step]) - mean_row[i]) * scale;
  } else {
    for (int i = 0; i < n; ++i) out[i] = (float(x[i * step]) - mean) * scale;
  }
}

template <int n>
using Constant = std::integral_constant<int, n>;

template <typename T>
void convert_row(const T* x, int step, int n, const float* mean_row, float mean, float scale, float* out) {
  if (step == 1)
    convert_row(x, Constant<1>(), n, mean_row, mean, scale, out);
  else if (step == 3)
    convert_row(x, Constant<3>(), n, mean_row, mean, scale, out);
  else
    convert_row<T, int>(x, step, n, mean_row, mean, scale, out);
}

const float* mean_row_of(const MeanImage& mean, int channel, int row, int column) {
  return mean.values.data() + (int64_t(channel) * mean.height + row) * mean.width + column;
}

template <typename T>
void convert(const T* x, const Sample& sample, const TransformPlan& plan, const SampleDraw& draw, float* out) {
  const int64_t plane = int64_t(sample.height) * sample.width;
  const int step = sample.interleaved ? sample.channels : 1;
  for (int c = 0; c < sample.channels; ++c) {
    const T* channel = sample.interleaved ? x + c : x + c * plane;
    const float mean = plan.mean_values.empty() ? 0 : plan.mean_values[plan.mean_values.size() == 1 ? 0 : size_t(c)];
    for (int h = 0; h < draw.out_height; ++h, out += draw.out_width) {
      const int64_t from = int64_t(draw.top + h) * sample.width + draw.left;
      const float* mean_row = plan.mean ? mean_row_of(*plan.mean, c, draw.mean_top + h, draw.mean_left) : nullptr;
      convert_row(channel + from * step, step, draw.out_width, mean_row, mean, plan.scale, out);
      if (draw.mirror) std::reverse(out, out + draw.out_width);
    }
  }
}

}  // namespace

OutputSize output_size(const TransformPlan& plan, const Sample& sample) {
  if (plan.crop_h > sample.height || plan.crop_w > sample.width)
    throw SampleError("the image is " + sample.shape_str() + ", smaller than the crop of " +
                          std::to_string(plan.crop_h) + "x" + std::to_string(plan.crop_w),
                      "lower transform_param.crop_size, or make the dataset from larger images");
  if (plan.mean_values.size() > 1 && plan.mean_values.size() != size_t(sample.channels))
    throw SampleError("the image is " + sample.shape_str() + ", but there are " +
                          std::to_string(plan.mean_values.size()) + " mean values",
                      "give one transform_param.mean_value, or one for each channel");
  if (plan.mean) {
    const MeanImage& mean = *plan.mean;
    if (mean.channels != sample.channels || mean.height != sample.height || mean.width != sample.width)
      throw SampleError("the image is " + sample.shape_str() + ", but the mean file " + mean.path + " is " +
                            Sample{mean.channels, mean.height, mean.width, nullptr, nullptr, false}.shape_str(),
                        "the mean has the size of images before cropping; `cortado mean` makes it from the dataset");
  }
  return plan.crop_h > 0 ? OutputSize{plan.crop_h, plan.crop_w} : OutputSize{sample.height, sample.width};
}

SampleDraw draw_sample(const TransformPlan& plan, int channels, int height, int width, uint64_t seed, uint64_t epoch,
                       uint64_t index) {
  const OutputSize size = output_size(plan, Sample{channels, height, width, nullptr, nullptr, false});
  const int spare_h = height - size.height, spare_w = width - size.width;
  SampleDraw draw{channels, height, width, size.height, size.width, spare_h / 2, spare_w / 2};
  if (plan.mirror || plan.random_crop) {
    const Philox::Words words = Philox(mix_key(seed, kAugmentKey))(epoch, index);
    draw.mirror = plan.mirror && words.v[0] >> 31 != 0;
    if (plan.random_crop) {
      draw.top = scaled(words.v[1], spare_h + 1);
      draw.left = scaled(words.v[2], spare_w + 1);
    }
  }
  draw.mean_top = draw.top;
  draw.mean_left = draw.left;
  return draw;
}

SourceWindow source_window(const SampleDraw& draw) {
  return {draw.top, draw.left, draw.out_height, draw.out_width, draw.out_height, draw.out_width};
}

SampleDraw fit_draw(const SampleDraw& draw, const Sample& sample) {
  return fit_draw(draw, sample, {0, 0, draw.height, draw.width});
}

SampleDraw fit_draw(const SampleDraw& draw, const Sample& sample, const SourcePart& part) {
  SampleDraw fitted = draw;
  fitted.top -= part.top;
  fitted.left -= part.left;
  fitted.height = sample.height;
  fitted.width = sample.width;
  return fitted;
}

void transform(const Sample& sample, const TransformPlan& plan, const SampleDraw& draw, float* out) {
  if (sample.bytes != nullptr)
    convert(sample.bytes, sample, plan, draw, out);
  else
    convert(sample.floats, sample, plan, draw, out);
}

}  // namespace cortado::data
