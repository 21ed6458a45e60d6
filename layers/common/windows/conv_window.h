#pragma once

// The geometry options of convolution_param, which convolution and its transpose share: kernel_size, pad, stride and
// dilation, each once for all spatial axes, or once for each, or (not dilation) by its _h and _w fields instead.
// `hole`, hole_h and hole_w are DeepLab's names of dilation. Layers of volumes have names of their own for the first of
// three axes (layers/common/windows/volume_options.h).

#include <string>
#include <vector>

#include "core/shape.h"
#include "kernels/conv.h"
#include "layers/layer.h"
#include "proto/cortado.pb.h"

namespace cortado {

class ConvWindow {
 public:
  /// Finds every mistake that needs no shape. Throws FieldError. `options` outlives this. Without filters (Im2col)
  /// their number is not asked for.
  explicit ConvWindow(const caffe::ConvolutionParameter& options, bool has_filters = true)
      : ConvWindow(options, has_filters, "convolution_param", false) {}
  /// Of volumes: `options` has three values of each option, which the user said in `message`. `options` outlives this.
  static ConvWindow of_volumes(const caffe::ConvolutionParameter& options, const std::string& message) {
    return ConvWindow(options, true, message, true);
  }

  /// Of images, with options that the user said in `message`. `options` outlives this.
  static ConvWindow of_message(const caffe::ConvolutionParameter& options, const std::string& message) {
    return ConvWindow(options, true, message, false);
  }

  std::string path(const std::string& field) const { return message_ + (field.empty() ? "" : ".") + field; }

  /// The axis of `x` that holds the channels: what comes before it counts images, what comes behind it is spatial.
  /// Throws FieldError, also for `bottom` where there is nothing behind it, or too much.
  int channel_axis(const Shape& x, const std::string& bottom) const;

  /// The window on each spatial axis of `x`, `in` included. Throws FieldError, as channel_axis() does, too; whether the
  /// kernel fits is not checked.
  std::vector<kernels::ConvAxis> axes_for(const Shape& x, const std::string& bottom) const;

  /// The convolution of x's images with a window on these axes; c and k are left to be set.
  kernels::ConvShape shape_for(const Shape& x, const std::vector<kernels::ConvAxis>& axes) const;

  /// x with other channels and, outermost first, other spatial extents.
  Shape replaced(Shape x, int64_t channels, const std::vector<int64_t>& extents) const;

  /// Throws FieldError unless each of x has a top and all are of one shape: they share the weights.
  void check_operands(const std::vector<Shape>& x, size_t tops) const;

  /// What such a layer's infer() says: each y has `channels` channels and these spatial extents; the weights are w and,
  /// unless bias_term says otherwise, one for each of those channels. Throws FieldError for a filler.
  LayerShapes layer_shapes(const std::vector<Shape>& x, const Shape& w, int64_t channels,
                           const std::vector<int64_t>& extents) const;

  /// Throws FieldError when the kernel is larger than the padded input on some axis.
  void check_kernel_fits(const std::vector<kernels::ConvAxis>& axes) const;

  /// Whether the channels are where images have them, and two spatial axes behind them.
  bool is_of_images(const Shape& x) const;

  /// Throws FieldError unless `group` divides the channels of bottom[0] and num_output, which is not 0.
  void check_channels(int64_t channels) const;

 private:
  /// One option: its values and the fields that gave them.
  struct Option {
    std::string name;
    std::vector<int64_t> values;      ///< one for each axis, or one for all
    std::vector<std::string> fields;  ///< as long
    int64_t value(size_t axis) const { return values.size() == 1 ? values[0] : values[axis]; }
    const std::string& field(size_t axis) const { return fields.size() == 1 ? fields[0] : fields[axis]; }
  };
  ConvWindow(const caffe::ConvolutionParameter& options, bool has_filters, const std::string& message, bool volumes);
  Option read(const std::string& name, int64_t absent) const;
  Option read_dilation() const;
  void check_filters() const;
  void check_kernel() const;

  const caffe::ConvolutionParameter& options_;
  std::string message_;
  bool volumes_;
  Option kernel_, pad_, stride_, dilation_;
};

}  // namespace cortado
