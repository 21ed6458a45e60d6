#include "layers/common/windows/volume_options.h"

#include <google/protobuf/descriptor.h>

#include "core/error.h"

namespace cortado {

namespace {

using Fields = caffe::Convolution3DParameter;

/// Converts convolution3d_param to the fields of C3D's convolution_param.
caffe::ConvolutionParameter as_convolution(const Fields& given) {
  caffe::ConvolutionParameter options;
  if (given.has_num_output()) options.set_num_output(given.num_output());
  options.set_bias_term(given.bias_term());
  if (given.has_kernel_size()) options.add_kernel_size(given.kernel_size());
  if (given.has_kernel_depth()) options.set_kernel_depth(given.kernel_depth());
  options.add_stride(given.stride());
  options.set_temporal_stride(given.temporal_stride());
  options.add_pad(given.pad());
  options.set_temporal_pad(given.temporal_pad());
  options.set_group(given.group());
  if (given.has_weight_filler()) *options.mutable_weight_filler() = given.weight_filler();
  if (given.has_bias_filler()) *options.mutable_bias_filler() = given.bias_filler();
  options.set_engine(given.engine());
  return options;
}

using Values = google::protobuf::RepeatedField<uint32_t>;

/// Expands one value for all three axes to `depth` and twice that value.
void spread(Values& values, uint32_t depth, uint32_t absent, const std::string& field) {
  if (values.size() > 1)
    throw FieldError(field + "[1]", "it has " + std::to_string(values.size()) + " values",
                     "set one for height and width; L has its own field");
  const uint32_t side = values.empty() ? absent : values[0];
  values.Clear();
  values.Add(depth);
  values.Add(side);
  values.Add(side);
}

}  // namespace

VolumeConvolution read_volume_convolution(const caffe::LayerParameter& layer) {
  const bool own = layer.has_convolution3d_param();
  if (own && layer.has_convolution_param())
    throw FieldError("convolution_param", "convolution3d_param is set as well", "set one of them");
  VolumeConvolution volume{own ? as_convolution(layer.convolution3d_param()) : layer.convolution_param(),
                           own ? "convolution3d_param" : "convolution_param"};
  caffe::ConvolutionParameter& o = volume.options;
  refuse_fields(o, volume.message,
                {"kernel_h", "kernel_w", "stride_h", "stride_w", "pad_h", "pad_w", "dilation", "kstride", "hole",
                 "hole_h", "hole_w", "axis"},
                "use a Convolution layer, with one value for each axis");
  if (o.kernel_size().empty() || !o.has_kernel_depth())
    throw FieldError(volume.message, o.kernel_size().empty() ? "kernel_size is missing" : "kernel_depth is missing",
                     "set kernel_size for height and width, and kernel_depth for L");
  spread(*o.mutable_kernel_size(), o.kernel_depth(), 0, volume.message + ".kernel_size");
  spread(*o.mutable_stride(), o.temporal_stride(), 1, volume.message + ".stride");
  spread(*o.mutable_pad(), o.temporal_pad(), 0, volume.message + ".pad");
  o.clear_kernel_depth();
  o.clear_temporal_stride();
  o.clear_temporal_pad();
  return volume;
}

std::string depth_field(const std::string& option) {
  return option == "kernel_size" ? "kernel_depth" : "temporal_" + option;
}

void refuse_fields(const google::protobuf::Message& options, const std::string& message,
                   const std::vector<const char*>& fields, const std::string& hint) {
  for (const char* name : fields) {
    const auto* field = options.GetDescriptor()->FindFieldByName(name);
    const auto* reflection = options.GetReflection();
    const bool set =
        field->is_repeated() ? reflection->FieldSize(options, field) > 0 : reflection->HasField(options, field);
    if (set) throw FieldError(message + "." + name, std::string(name) + " is not available here", hint);
  }
}

}  // namespace cortado
