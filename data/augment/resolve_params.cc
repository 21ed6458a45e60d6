// Computes the kernels from the map's step, in pixels of the source. A map to whole pixels needs no kernel, so a crop
// or a flip is exact and cheap with every filter.
#include <algorithm>
#include <cmath>

#include "data/augment/augment.h"
#include "data/augment/augment_options.h"

namespace cortado::data {

namespace {

/// Clamped to `most`, so that the sum of a position's three parts does not overflow.
int64_t fixed(double pixels, double most) { return std::llround(std::clamp(pixels, -most, most) * double(kOnePixel)); }
constexpr double kResolveParamsFarthest = 1 << 28;

void set_row(const double* pixels, const AugmentParams& params, int64_t* row) {
  row[0] = fixed(pixels[0], kResolveParamsFarthest / params.out_width);
  row[1] = fixed(pixels[1], kResolveParamsFarthest / params.out_height);
  row[2] = fixed(pixels[2], kResolveParamsFarthest);
}

bool reads_whole_pixels(int64_t along, int64_t aside, int64_t from) {
  return std::abs(along) == kOnePixel && aside == 0 && from % kOnePixel == 0;
}

int32_t reach_for(float pixels) { return int32_t(std::ceil(std::min(pixels, 1e6f))); }

Kernel sharp_kernel(float step, float stretch, float share) {
  // A 3 x 3 mean in which the centre has weight 5 uses 6/13 of a pixel's neighbours along each axis.
  const float amount = share * 3.0f / 13.0f;
  return {KernelKind::kSharp, reach_for(stretch + step), stretch, 1 / stretch, amount, step};
}

Kernel gauss_kernel(float step, float stretch, float blur) {
  const float variance = blur * blur * step * step + stretch * stretch / 6;  // plus the variance of a tent
  return {KernelKind::kGauss, reach_for(3 * std::sqrt(variance)), 1, 1 / (2 * variance)};
}

Kernel any_kernel(const AugmentParams& params, float step) {
  // Images that were rotated or sheared use four neighbours unless they are reduced to less than half, because wider
  // kernels have to be evaluated for each pixel.
  const float most = params.map[1] != 0 || params.map[3] != 0 ? 2.0f : 1.0f;
  const float stretch = params.smooth && step > most ? step : 1.0f;
  if (params.blur > 0) return gauss_kernel(step, stretch, params.blur);
  if (params.sharpen != 0) return sharp_kernel(step, stretch, params.sharpen);
  switch (params.filter) {
    case Filter::kNearest:
      return {};
    case Filter::kCubic:
      return {KernelKind::kCubic, reach_for(2 * stretch), stretch, 1 / stretch};
    case Filter::kLanczos:
      return {KernelKind::kLanczos, reach_for(4 * stretch), stretch, 1 / stretch};
    case Filter::kArea:
      if (step > 1) return {KernelKind::kArea, reach_for(step / 2 + 0.5f), step};
      break;
    case Filter::kLinear:
      break;
  }
  return {KernelKind::kLinear, reach_for(stretch), stretch, 1 / stretch};
}

/// Limited to the size of the image, for any step.
Kernel kernel_for(const AugmentParams& params, float step, int size) {
  Kernel kernel = any_kernel(params, step);
  kernel.reach = std::min(kernel.reach, size);
  return kernel;
}

void set_kernels(AugmentParams& params) {
  const int64_t* m = params.map;
  const bool as_is = params.blur <= 0 && params.sharpen == 0;
  const auto step = [](int64_t a, int64_t b) { return float(std::hypot(double(a), double(b)) / double(kOnePixel)); };
  params.across =
      as_is && reads_whole_pixels(m[0], m[1], m[2]) ? Kernel() : kernel_for(params, step(m[0], m[1]), params.width);
  params.down =
      as_is && reads_whole_pixels(m[4], m[3], m[5]) ? Kernel() : kernel_for(params, step(m[3], m[4]), params.height);
}

/// The range of pixels that a row of the map reads, from `begin` to `end`, on an axis of `size` pixels.
struct Reach {
  int begin, end;
};

Reach reach_of(const int64_t* row, const AugmentParams& params, const Kernel& kernel, int size) {
  int64_t low = row[2], high = row[2];
  for (const int64_t along : {row[0] * (params.out_width - 1), row[1] * (params.out_height - 1)})
    (along < 0 ? low : high) += along;
  const bool beyond = low < -kHalfPixel || high >= size * kOnePixel - kHalfPixel;
  if (beyond && params.border == Border::kReflect) return {0, size};
  const int margin = kernel.kind == KernelKind::kNearest ? 0 : kernel.reach;
  const int64_t begin = ((low + (margin ? 0 : kHalfPixel)) >> 32) - std::max(margin - 1, 0);
  const int64_t end = ((high + (margin ? 0 : kHalfPixel)) >> 32) + margin + 1;
  const int first = int(std::clamp<int64_t>(begin, 0, size - 1));
  return {first, int(std::clamp<int64_t>(end, first + 1, size))};
}

int brought_to(int pixels, const int64_t* row) {
  const double step = std::hypot(double(row[0]), double(row[1])) / double(kOnePixel);
  return step > 0 ? int(std::clamp(std::ceil(pixels / step - 1e-6), 1.0, 1e6)) : 1;
}

void rescale(const AugmentParams& params, double ratio, int from, int64_t* row) {
  if (ratio == 1) {
    row[2] -= from * kOnePixel;
    return;
  }
  const double one = double(kOnePixel);
  const double pixels[3] = {double(row[0]) / one * ratio, double(row[1]) / one * ratio,
                            (double(row[2]) / one + 0.5 - from) * ratio - 0.5};
  set_row(pixels, params, row);
}

}  // namespace

void fix_map(const Affine& map, AugmentParams& params) {
  set_row(map.m, params, params.map);
  set_row(map.m + 3, params, params.map + 3);
  params.mean_left = int32_t(params.map[2] >> 32);
  params.mean_top = int32_t(params.map[5] >> 32);
  set_kernels(params);
}

bool is_cut_out(const AugmentParams& params) {
  const int64_t* m = params.map;
  if (params.across.kind != KernelKind::kNearest || params.down.kind != KernelKind::kNearest) return false;
  if (!reads_whole_pixels(m[0], m[1], m[2]) || !reads_whole_pixels(m[4], m[3], m[5])) return false;
  const auto inside = [](int64_t along, int64_t from, int64_t count, int64_t size) {
    const int64_t first = from >> 32, last = first + (along >> 32) * (count - 1);
    return std::min(first, last) >= 0 && std::max(first, last) < size;
  };
  return inside(m[0], m[2], params.out_width, params.width) && inside(m[4], m[5], params.out_height, params.height);
}

SourceWindow source_window(const AugmentParams& params) {
  const Reach across = reach_of(params.map, params, params.across, params.width);
  const int64_t down_row[3] = {params.map[3], params.map[4], params.map[5]};
  const Reach down = reach_of(down_row, params, params.down, params.height);
  const int height = down.end - down.begin, width = across.end - across.begin;
  return {down.begin, across.begin, height, width, brought_to(height, down_row), brought_to(width, params.map)};
}

AugmentParams resolve_params(const AugmentParams& params, const Sample& sample) {
  return resolve_params(params, sample, {0, 0, params.height, params.width});
}

AugmentParams resolve_params(const AugmentParams& params, const Sample& sample, const SourcePart& part) {
  if (params.fitted) return params;
  AugmentParams fitted = params;
  rescale(params, double(sample.width) / part.width, part.left, fitted.map);
  rescale(params, double(sample.height) / part.height, part.top, fitted.map + 3);
  fitted.height = sample.height;
  fitted.width = sample.width;
  fitted.fitted = true;
  set_kernels(fitted);
  measure_colors(sample, fitted);
  return fitted;
}

}  // namespace cortado::data
