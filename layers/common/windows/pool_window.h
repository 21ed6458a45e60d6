#pragma once

// The options of pooling_param that say where windows lie, and how many there are along an axis: rounded up,
// ceil((in + 2 pad - kernel) / stride) + 1, unless round_mode: FLOOR, ceil_mode: false or torch_pooling: true say down;
// with padding, a last window that would start beyond the image and its first padding is left out. A kernel larger than
// the padded input is a mistake unless rounding up gives one window, which hangs over the edge: 2 on 1 with stride 2.

#include <string>

#include "core/shape.h"
#include "proto/cortado.pb.h"

namespace cortado {

/// Whether the number of windows is rounded up: three dialects have a name for it each. Throws FieldError.
bool rounds_up(const caffe::PoolingParameter& options);

/// How many windows there are along an axis; 0 where the window is too large for the padded extent.
int64_t number_of_windows(int64_t in, int64_t kernel, int64_t stride, int64_t pad, bool up);

/// Throws FieldError unless the channels lie on axis 1 of x.
void check_channel_axis(const caffe::PoolingParameter& options, const Shape& x);

class PoolWindow {
 public:
  /// One option of the window, given for both sides or for each: kernel_size or kernel_h and kernel_w, and so on.
  struct Pair {
    int64_t h, w;
  };

  /// Finds every mistake that needs no shape. Throws FieldError. `options` outlives this.
  explicit PoolWindow(const caffe::PoolingParameter& options);

  /// The shape of y; a global window becomes as large as x. Throws FieldError.
  Shape infer(const Shape& x);

  Pair kernel{}, stride{}, pad{};

 private:
  std::string kernel_field(bool h) const;
  int64_t outputs(const Shape& x, int axis) const;

  const caffe::PoolingParameter& options_;
  bool up_ = true;  ///< the number of windows is rounded up
};

}  // namespace cortado
