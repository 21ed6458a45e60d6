#pragma once

// Index arithmetic of convolution windows, on any number of axes. All axes except the innermost are combined: a line is
// a position on them in row-major order, and a tap is a window element on them.

#include <cstdint>

#include "core/host_device.h"
#include "kernels/conv.h"

namespace cortado::kernels {

struct ConvPlaces {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, pad = 0, dilation = 1;

  ConvPlaces() = default;
  explicit ConvPlaces(const ConvAxis& a)
      : in(a.in), out(a.out()), kernel(a.kernel), stride(a.stride), pad(a.pad), dilation(a.dilation) {}

  /// The input index under window element k at output o; -1 if outside the image.
  CORTADO_HD int64_t input(int64_t o, int64_t k) const {
    const int64_t at = o * stride - pad + k * dilation;
    return at >= 0 && at < in ? at : -1;
  }
  /// The output whose window element k covers input i; -1 if none.
  CORTADO_HD int64_t output(int64_t i, int64_t k) const {
    const int64_t from = i + pad - k * dilation;
    return from >= 0 && from % stride == 0 && from / stride < out ? from / stride : -1;
  }
};

/// All axes except the innermost.
struct ConvLines {
  ConvPlaces axes[kMaxConvAxes - 1];
  int count = 0;
  int64_t in = 1, out = 1, kernel = 1;  ///< products over the axes

  explicit ConvLines(const ConvShape& shape) {
    for (const ConvAxis& axis : shape.outer) add(axis);
    add(shape.h);
  }

  /// The input line under `tap` of the window at an output line; -1 if outside the image.
  CORTADO_HD int64_t input(int64_t line, int64_t tap) const {
    int64_t result = 0, step = 1;
    for (int i = count - 1; i >= 0; --i) {
      const ConvPlaces& a = axes[i];
      const int64_t at = a.input(line % a.out, tap % a.kernel);
      if (at < 0) return -1;
      result += at * step, step *= a.in, line /= a.out, tap /= a.kernel;
    }
    return result;
  }

  /// The output line whose window covers an input line with `tap`; -1 if none.
  CORTADO_HD int64_t output(int64_t line, int64_t tap) const {
    int64_t result = 0, step = 1;
    for (int i = count - 1; i >= 0; --i) {
      const ConvPlaces& a = axes[i];
      const int64_t at = a.output(line % a.in, tap % a.kernel);
      if (at < 0) return -1;
      result += at * step, step *= a.out, line /= a.in, tap /= a.kernel;
    }
    return result;
  }

 private:
  void add(const ConvAxis& axis) {
    axes[count++] = ConvPlaces(axis);
    in *= axis.in, out *= axis.out(), kernel *= axis.kernel;
  }
};

}  // namespace cortado::kernels
