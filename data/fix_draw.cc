// Kernels follow from the map: one step of the result is so many pixels of the source. What reads whole pixels needs
// none, so a crop or a flip is exact and cheap whatever the filter.
#include "data/fix_draw.h"

#include <algorithm>
#include <cmath>

#include "data/augment.h"

namespace cortado::data {

namespace {

/// No further from 0 than `most`, so that sums of a place's three parts fit.
int64_t fixed(double pixels, double most) { return std::llround(std::clamp(pixels, -most, most) * double(kOnePixel)); }
constexpr double kFarthest = 1 << 28;

void set_row(const double* pixels, const SampleDraw& draw, int64_t* row) {
  row[0] = fixed(pixels[0], kFarthest / draw.out_width);
  row[1] = fixed(pixels[1], kFarthest / draw.out_height);
  row[2] = fixed(pixels[2], kFarthest);
}

bool reads_whole_pixels(int64_t along, int64_t aside, int64_t from) {
  return std::abs(along) == kOnePixel && aside == 0 && from % kOnePixel == 0;
}

int32_t reach_for(float pixels) { return int32_t(std::ceil(std::min(pixels, 1e6f))); }

Kernel sharp_kernel(float step, float stretch, float share) {
  // A 3 x 3 mean that counts its middle five times takes 6/13 of a pixel's neighbours along each axis.
  const float amount = share * 3.0f / 13.0f;
  return {KernelKind::kSharp, reach_for(stretch + step), stretch, 1 / stretch, amount, step};
}

Kernel gauss_kernel(float step, float stretch, float blur) {
  const float variance = blur * blur * step * step + stretch * stretch / 6;  // that of a tent, besides
  return {KernelKind::kGauss, reach_for(3 * std::sqrt(variance)), 1, 1 / (2 * variance)};
}

Kernel any_kernel(const SampleDraw& draw, float step) {
  // Pictures that were turned or sheared are read between four neighbours until they shrink to less than half: wider
  // kernels have to be evaluated for each of their pixels.
  const float most = draw.map[1] != 0 || draw.map[3] != 0 ? 2.0f : 1.0f;
  const float stretch = draw.smooth && step > most ? step : 1.0f;
  if (draw.blur > 0) return gauss_kernel(step, stretch, draw.blur);
  if (draw.sharpen != 0) return sharp_kernel(step, stretch, draw.sharpen);
  switch (draw.filter) {
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

/// Farther than the other edge there is nothing, whatever the step.
Kernel kernel_for(const SampleDraw& draw, float step, int size) {
  Kernel kernel = any_kernel(draw, step);
  kernel.reach = std::min(kernel.reach, size);
  return kernel;
}

void set_kernels(SampleDraw& draw) {
  const int64_t* m = draw.map;
  const bool as_is = draw.blur <= 0 && draw.sharpen == 0;
  const auto step = [](int64_t a, int64_t b) { return float(std::hypot(double(a), double(b)) / double(kOnePixel)); };
  draw.across =
      as_is && reads_whole_pixels(m[0], m[1], m[2]) ? Kernel() : kernel_for(draw, step(m[0], m[1]), draw.width);
  draw.down =
      as_is && reads_whole_pixels(m[4], m[3], m[5]) ? Kernel() : kernel_for(draw, step(m[3], m[4]), draw.height);
}

/// The pixels from `begin` to `end` that a row of the map reads, on an axis of `size` pixels.
struct Reach {
  int begin, end;
};

Reach reach_of(const int64_t* row, const SampleDraw& draw, const Kernel& kernel, int size) {
  int64_t low = row[2], high = row[2];
  for (const int64_t along : {row[0] * (draw.out_width - 1), row[1] * (draw.out_height - 1)})
    (along < 0 ? low : high) += along;
  const bool beyond = low < -kHalfPixel || high >= size * kOnePixel - kHalfPixel;
  if (beyond && draw.border == Border::kReflect) return {0, size};
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

void rescale(const SampleDraw& draw, double ratio, int from, int64_t* row) {
  if (ratio == 1) {
    row[2] -= from * kOnePixel;
    return;
  }
  const double one = double(kOnePixel);
  const double pixels[3] = {double(row[0]) / one * ratio, double(row[1]) / one * ratio,
                            (double(row[2]) / one + 0.5 - from) * ratio - 0.5};
  set_row(pixels, draw, row);
}

}  // namespace

void fix_map(const Affine& map, SampleDraw& draw) {
  set_row(map.m, draw, draw.map);
  set_row(map.m + 3, draw, draw.map + 3);
  draw.mean_left = int32_t(draw.map[2] >> 32);
  draw.mean_top = int32_t(draw.map[5] >> 32);
  set_kernels(draw);
}

bool is_cut_out(const SampleDraw& draw) {
  const int64_t* m = draw.map;
  if (draw.across.kind != KernelKind::kNearest || draw.down.kind != KernelKind::kNearest) return false;
  if (!reads_whole_pixels(m[0], m[1], m[2]) || !reads_whole_pixels(m[4], m[3], m[5])) return false;
  const auto inside = [](int64_t along, int64_t from, int64_t count, int64_t size) {
    const int64_t first = from >> 32, last = first + (along >> 32) * (count - 1);
    return std::min(first, last) >= 0 && std::max(first, last) < size;
  };
  return inside(m[0], m[2], draw.out_width, draw.width) && inside(m[4], m[5], draw.out_height, draw.height);
}

SourceWindow source_window(const SampleDraw& draw) {
  const Reach across = reach_of(draw.map, draw, draw.across, draw.width);
  const int64_t down_row[3] = {draw.map[3], draw.map[4], draw.map[5]};
  const Reach down = reach_of(down_row, draw, draw.down, draw.height);
  const int height = down.end - down.begin, width = across.end - across.begin;
  return {down.begin, across.begin, height, width, brought_to(height, down_row), brought_to(width, draw.map)};
}

SampleDraw fit_draw(const SampleDraw& draw, const Sample& sample) {
  return fit_draw(draw, sample, {0, 0, draw.height, draw.width});
}

SampleDraw fit_draw(const SampleDraw& draw, const Sample& sample, const SourcePart& part) {
  if (draw.fitted) return draw;
  SampleDraw fitted = draw;
  rescale(draw, double(sample.width) / part.width, part.left, fitted.map);
  rescale(draw, double(sample.height) / part.height, part.top, fitted.map + 3);
  fitted.height = sample.height;
  fitted.width = sample.width;
  fitted.fitted = true;
  set_kernels(fitted);
  measure_colors(sample, fitted);
  return fitted;
}

}  // namespace cortado::data
