#pragma once

// Options of C3D's layers, which work on volumes, N x C x L x H x W. They have kernel_size, stride and pad once for
// height and width, and kernel_depth, temporal_stride and temporal_pad for L, in the message of their type
// (convolution3d_param) or in that of images (convolution_param).

#include <string>
#include <vector>

#include "proto/cortado.pb.h"

namespace cortado {

/// The options of a convolution over volumes as a convolution_param: three values of each option.
struct VolumeConvolution {
  caffe::ConvolutionParameter options;
  std::string message;  ///< where the user set them
};

/// Throws FieldError.
VolumeConvolution read_volume_convolution(const caffe::LayerParameter& layer);

/// The field of L for an option of height and width: kernel_depth for kernel_size, and so on.
std::string depth_field(const std::string& option);

/// Throws FieldError for the first of these fields of `options`, at `message`, that is set: layers of this type do not
/// support them.
void refuse_fields(const google::protobuf::Message& options, const std::string& message,
                   const std::vector<const char*>& fields, const std::string& hint);

}  // namespace cortado
