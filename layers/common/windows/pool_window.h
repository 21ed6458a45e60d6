#pragma once

// The window options of pooling_param, and the number of windows along an axis. It is rounded up, ceil((in + 2 pad -
// kernel) / stride) + 1, unless round_mode: FLOOR, ceil_mode: false or torch_pooling: true select rounding down. With
// padding, a last window that starts beyond the image and its first padding is dropped. A kernel larger than the padded
// input is an error, unless rounding up yields one window that extends over the edge: 2 on 1 with stride 2.

#include <cstdint>
#include <string>
#include <vector>

#include "core/shape.h"
#include "proto/cortado.pb.h"

namespace cortado {

/// Whether the number of windows is rounded up; three dialects have different options for it. Throws FieldError.
bool rounds_up(const caffe::PoolingParameter& options);

/// The distance of a window's values on each axis: dilation, or its earlier name.
struct PoolDilation {
  std::vector<int64_t> values;  ///< one for all axes, or one for each
  std::string field;
  bool none() const;  ///< all are 1
};
/// Throws FieldError if both names are used.
PoolDilation pool_dilation(const caffe::PoolingParameter& options);

/// The number of windows along an axis, if a window extends over `kernel` elements; 0 if the window is larger than the
/// padded extent.
int64_t number_of_windows(int64_t in, int64_t kernel, int64_t stride, int64_t pad, bool up);

/// Throws FieldError unless the channels are on axis 1 of x.
void check_channel_axis(const caffe::PoolingParameter& options, const Shape& x);

class PoolWindow {
 public:
  /// One option of the window, set for both sides or for each: kernel_size or kernel_h and kernel_w, and so on.
  struct Pair {
    int64_t h, w;
  };

  /// Throws FieldError for every error that does not depend on shapes. `options` must outlive this.
  explicit PoolWindow(const caffe::PoolingParameter& options);

  /// The shape of y; a global window gets the size of x. Throws FieldError.
  Shape infer(const Shape& x);

  Pair kernel{}, stride{}, pad{};

 private:
  std::string kernel_field(bool h) const;
  int64_t outputs(const Shape& x, int axis) const;

  const caffe::PoolingParameter& options_;
  bool up_ = true;  ///< round the number of windows up
};

}  // namespace cortado
