// Crops and flips, the transformation of Caffe: subtract the mean (which is aligned with the image before cropping),
// multiply, then mirror. A vectorized loop converts a row from left to right, and a mirrored row is then reversed in
// place. data/augment/transform_rows.cc does all other transformations.
#include "data/augment/transform.h"

#include <algorithm>

#include "core/error.h"
#include "data/augment/augment_options.h"
#include "data/augment/crop_box.h"
#include "data/augment/transform_rows.h"

namespace cortado::data {

namespace {

/// Converts one row of one channel. `step` is the distance between neighbours; the usual ones are compile-time
/// constants.
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

/// The smallest of `count` columns (or rows) that are read from `at` on in either direction.
int64_t least(int64_t at, int64_t along, int count) { return along < 0 ? at - (count - 1) : at; }

template <typename T>
void convert(const T* x, const Sample& sample, const TransformPlan& plan, const AugmentParams& params, float* out) {
  thread_local std::vector<float> row;
  row.resize(size_t(params.out_width));
  const RowWriter writer(int64_t(sample.channels) * params.out_height * params.out_width);
  const int64_t plane = int64_t(sample.height) * sample.width;
  const int step = sample.interleaved ? sample.channels : 1;
  const bool mirror = params.map[0] < 0;
  const int64_t left = least(params.map[2] >> 32, params.map[0], params.out_width);
  const int64_t mean_left = least(params.mean_left, params.map[0], params.out_width), down = params.map[4] < 0 ? -1 : 1;
  for (int c = 0; c < sample.channels; ++c) {
    const T* channel = sample.interleaved ? x + c : x + c * plane;
    const float mean = mean_value(plan, c);
    for (int h = 0; h < params.out_height; ++h, out += params.out_width) {
      const int64_t from = ((params.map[5] >> 32) + h * down) * sample.width + left;
      const float* mean_row = plan.mean ? mean_at(*plan.mean, c, params.mean_top + h * down, mean_left) : nullptr;
      convert_row(channel + from * step, step, params.out_width, mean_row, mean, plan.scale, row.data());
      if (mirror) std::reverse(row.begin(), row.end());
      writer.write(row.data(), params.out_width, out);
    }
  }
}

bool changes_pixels(const AugmentParams& params) {
  return params.color_ops > 0 || params.noise > 0 || params.salt > 0 || params.erased.height > 0;
}

}  // namespace

float mean_value(const TransformPlan& plan, int channel) {
  if (plan.mean_values.empty()) return 0;
  return plan.mean_values[plan.mean_values.size() == 1 ? 0 : size_t(channel)];
}

const float* mean_at(const MeanImage& mean, int channel, int64_t row, int64_t column) {
  return mean.values.data() + (int64_t(channel) * mean.height + row) * mean.width + column;
}

void check_fits(const TransformPlan& plan, int channels, int height, int width) {
  const std::string shape = Sample{channels, height, width, nullptr, nullptr, false}.shape_str();
  if (plan.mean_values.size() > 1 && plan.mean_values.size() != size_t(channels))
    throw SampleError(
        "the image is " + shape + ", but there are " + std::to_string(plan.mean_values.size()) + " mean values",
        std::string("set one transform_param.mean_value, or one for each channel") +
            (channels == 1 ? "; force_color: true makes encoded grey images three channels" : ""));
  if (plan.augment.colors && channels != 1 && channels != 3)
    throw SampleError("the image is " + shape + ", but transform_param changes colours, which takes 1 or 3 channels");
  if (!plan.mean) return;
  const MeanImage& mean = *plan.mean;
  if (mean.channels != channels || mean.height != height || mean.width != width)
    throw SampleError("the image is " + shape + ", but the mean file " + mean.path + " is " +
                          Sample{mean.channels, mean.height, mean.width, nullptr, nullptr, false}.shape_str(),
                      "use a mean with the size of images before cropping, from `cortado mean`");
}

void check_crop(const TransformPlan& plan, int channels, int height, int width) {
  if (plan.crop_h > height || plan.crop_w > width)
    throw SampleError("the image is " + Sample{channels, height, width, nullptr, nullptr, false}.shape_str() +
                          (plan.augment.moves ? " once resized" : "") + ", smaller than the crop of " +
                          std::to_string(plan.crop_h) + "x" + std::to_string(plan.crop_w),
                      "lower transform_param.crop_size, or make the dataset from larger images");
  if (plan.crop_h == 0 && int64_t(height) * width > kMaxPixels)
    throw SampleError("the image would become " + std::to_string(height) + "x" + std::to_string(width),
                      "set transform_param.crop_size");
}

OutputSize output_size(const TransformPlan& plan, const Sample& sample) {
  check_fits(plan, sample.channels, sample.height, sample.width);
  const CropBox place = place_sample(plan, sample.height, sample.width, {0, 0, 0});
  if (!plan.augment.moves) check_crop(plan, sample.channels, place.rows, place.columns);
  return plan.crop_h > 0 ? OutputSize{plan.crop_h, plan.crop_w} : OutputSize{place.rows, place.columns};
}

void transform(const Sample& sample, const TransformPlan& plan, const AugmentParams& params, float* out) {
  if (!params.fitted && (params.height != sample.height || params.width != sample.width || params.color_ops > 0))
    return transform(sample, plan, resolve_params(params, sample), out);
  if (!is_cut_out(params) || changes_pixels(params))
    transform_rows(sample, plan, params, out);
  else if (sample.bytes != nullptr)
    convert(sample.bytes, sample, plan, params, out);
  else
    convert(sample.floats, sample, plan, params, out);
}

}  // namespace cortado::data
