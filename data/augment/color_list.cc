#include "data/augment/color_list.h"

#include <algorithm>

#include "core/error.h"

namespace cortado::data {

namespace {

constexpr double kBlue = 0.114, kGreen = 0.587, kRed = 0.299;

void store(const ColorMatrix& matrix, float* v) {
  for (int i = 0; i < 12; ++i) v[i] = float(matrix.v[i]);
}

}  // namespace

ColorMatrix brightened(double factor, double add) {
  return {{factor, 0, 0, add, 0, factor, 0, add, 0, 0, factor, add}};
}

ColorMatrix contrasted(double factor, double about) { return brightened(factor, about * (1 - factor)); }

ColorMatrix saturated(double factor) {
  const double b = kBlue * (1 - factor), g = kGreen * (1 - factor), r = kRed * (1 - factor);
  return {{b + factor, g, r, 0, b, g + factor, r, 0, b, g, r + factor, 0}};
}

/// Rotates the two colour differences of YIQ.
ColorMatrix hue_turned(double radians) {
  const double c = std::cos(radians), s = std::sin(radians);
  const double rows[3][3] = {{kRed, kGreen, kBlue}, {0.596, -0.274, -0.322}, {0.211, -0.523, 0.312}};
  const double back[3][3] = {{1, 0.956, 0.621}, {1, -0.272, -0.647}, {1, -1.106, 1.703}};
  ColorMatrix made;
  for (int to = 0; to < 3; ++to) {
    double sum = 0;
    for (int from = 0; from < 3; ++from) {
      const double i = c * rows[1][from] - s * rows[2][from], q = s * rows[1][from] + c * rows[2][from];
      const double value = rows[0][from] + back[to][1] * i + back[to][2] * q;
      made.v[(2 - to) * 4 + 2 - from] = value;
      sum += value;
    }
    made.v[(2 - to) * 4 + 1] += 1 - sum;  // the tables have three digits; this keeps greys exact
  }
  return made;
}

ColorMatrix inverted() { return brightened(-1, 255); }

ColorMatrix reordered(int blue, int green, int red) {
  ColorMatrix made{{}};
  made.v[blue] = made.v[4 + green] = made.v[8 + red] = 1;
  return made;
}

ColorOp& ColorList::next(ColorKind kind) {
  if (params_.color_ops == kMaxColorOps) throw_internal("too many colour operations for a draw");
  ColorOp& op = params_.color[params_.color_ops++];
  op.kind = kind;
  return op;
}

void ColorList::add(const ColorMatrix& matrix) {
  if (params_.color_ops == params_.image_color_ops || params_.color[params_.color_ops - 1].kind != ColorKind::kMatrix)
    return store(matrix, next(ColorKind::kMatrix).v);
  ColorOp& last = params_.color[params_.color_ops - 1];
  ColorMatrix both;
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 4; ++column) {
      double sum = column == 3 ? matrix.v[row * 4 + 3] : 0;
      for (int k = 0; k < 3; ++k) sum += matrix.v[row * 4 + k] * double(last.v[k * 4 + column]);
      both.v[row * 4 + column] = sum;
    }
  store(both, last.v);
}

void ColorList::posterize(int bits) {
  if (bits >= 8) return;
  ColorOp& op = next(ColorKind::kPosterize);
  op.v[0] = float(1 << (8 - bits));
  op.v[1] = 1.0f / op.v[0];
}

void ColorList::solarize(double from) { next(ColorKind::kSolarize).v[0] = float(from); }
void ColorList::auto_contrast() { next(ColorKind::kAutoContrast); }

void ColorList::equalize() {
  const ColorOp *begin = params_.color, *end = begin + params_.color_ops;
  if (std::none_of(begin, end, [](const ColorOp& op) { return op.kind == ColorKind::kEqualize; }))
    next(ColorKind::kEqualize);
}

}  // namespace cortado::data
