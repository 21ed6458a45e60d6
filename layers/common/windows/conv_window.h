#pragma once

// The window options of convolution_param, shared by convolution and its transpose: kernel_size, pad, stride and
// dilation, each once for all spatial axes, or once for each, or (not dilation) by its _h and _w fields. `hole`, hole_h
// and hole_w are DeepLab's names of dilation. Layers of volumes have other names for the first of three axes
// (layers/common/windows/volume_options.h).

#include <string>
#include <vector>

#include "core/shape.h"
#include "kernels/conv.h"
#include "layers/layer.h"
#include "proto/cortado.pb.h"

namespace cortado {

class ConvWindow {
 public:
  /// Throws FieldError for every error that does not depend on shapes. `options` must outlive this. Without filters
  /// (Im2col) num_output is not required.
  explicit ConvWindow(const caffe::ConvolutionParameter& options, bool has_filters = true)
      : ConvWindow(options, has_filters, "convolution_param", false) {}
  /// For volumes: `options` has three values of each option, which the user set in `message`. `options` must outlive
  /// this.
  static ConvWindow of_volumes(const caffe::ConvolutionParameter& options, const std::string& message) {
    return ConvWindow(options, true, message, true);
  }

  /// For images, with options that the user set in `message`. `options` must outlive this.
  static ConvWindow of_message(const caffe::ConvolutionParameter& options, const std::string& message) {
    return ConvWindow(options, true, message, false);
  }

  std::string path(const std::string& field) const { return message_ + (field.empty() ? "" : ".") + field; }

  /// The axis of the channels of `x`: axes before it are images, axes after it are spatial. Throws FieldError, also for
  /// `bottom` if it has no spatial axes or too many.
  int channel_axis(const Shape& x, const std::string& bottom) const;

  /// The window on each spatial axis of `x`, including `in`. Throws FieldError like channel_axis(); does not check that
  /// the kernel fits.
  std::vector<kernels::ConvAxis> axes_for(const Shape& x, const std::string& bottom) const;

  /// The convolution of x's images with a window on these axes; the caller sets c and k.
  kernels::ConvShape shape_for(const Shape& x, const std::vector<kernels::ConvAxis>& axes) const;

  /// x with other channels and other spatial extents, outermost first.
  Shape replaced(Shape x, int64_t channels, const std::vector<int64_t>& extents) const;

  /// Throws FieldError unless each of x has a top and all have the same shape, because they share the weights.
  void check_operands(const std::vector<Shape>& x, size_t tops) const;

  /// The result of such a layer's infer(): each y has `channels` channels and these spatial extents; the weights are w
  /// and, if bias_term, a bias for each of those channels. Throws FieldError for a filler.
  LayerShapes layer_shapes(const std::vector<Shape>& x, const Shape& w, int64_t channels,
                           const std::vector<int64_t>& extents) const;

  /// Throws FieldError if the kernel is larger than the padded input on some axis.
  void check_kernel_fits(const std::vector<kernels::ConvAxis>& axes) const;

  /// Whether x has the channels on axis 1, then two spatial axes.
  bool is_of_images(const Shape& x) const;

  /// Throws FieldError unless `group` divides the channels of bottom[0] and num_output, which is not 0.
  void check_channels(int64_t channels) const;

  /// Throws FieldError unless `group` divides num_output.
  void check_group() const;

 private:
  /// One option: its values and the fields that set them.
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
