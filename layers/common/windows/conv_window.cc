#include "layers/common/windows/conv_window.h"

#include <algorithm>

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/shape_rules.h"
#include "layers/common/weights/filler.h"
#include "layers/common/windows/volume_options.h"

namespace cortado {

namespace {

constexpr int64_t kMax = INT32_MAX;  ///< a product of two such numbers does not overflow

/// "7", or "5x7".
std::string sizes_text(const std::vector<int64_t>& sizes) { return Shape(sizes).str(); }

}  // namespace

/// Reads the option `name` by reflection: its repeated field, or the pair name_h and name_w (kernel_size: kernel_h,
/// kernel_w).
ConvWindow::Option ConvWindow::read(const std::string& name, int64_t absent) const {
  const auto* type = options_.GetDescriptor();
  const auto* reflection = options_.GetReflection();
  const auto* repeated = type->FindFieldByName(name);
  const std::string stem = name == "kernel_size" ? "kernel" : name;
  Option option{name, {}, {}};
  for (int i = 0; i < reflection->FieldSize(options_, repeated); ++i) {
    option.values.push_back(reflection->GetRepeatedUInt32(options_, repeated, i));
    option.fields.push_back(path(name + "[" + std::to_string(i) + "]"));
  }
  for (const std::string& side : {stem + "_h", stem + "_w"}) {
    const auto* field = type->FindFieldByName(side);
    if (!field || !reflection->HasField(options_, field)) continue;
    if (reflection->FieldSize(options_, repeated) > 0)
      throw FieldError(path(side), side + " contradicts " + name,
                       "set either " + name + ", or " + stem + "_h and " + stem + "_w");
    const bool second = side.back() == 'w';
    if (option.values.empty()) {
      option.values.assign(2, absent);
      option.fields.assign(2, path(side));
    }
    option.values[second] = reflection->GetUInt32(options_, field);
    option.fields[second] = path(side);
  }
  if (option.values.empty()) {
    option.values = {absent};
    option.fields = {path(name)};
  }
  if (volumes_ && option.fields.size() == 3) option.fields = {path(depth_field(name)), path(name), path(name)};
  for (size_t i = 0; i < option.values.size(); ++i)
    if (option.values[i] > kMax) throw FieldError(option.fields[i], std::to_string(option.values[i]) + " is too large");
  return option;
}

/// DeepLab calls it `hole`, the first OpenCL Caffe `kstride`.
ConvWindow::Option ConvWindow::read_dilation() const {
  const Option dilation = read("dilation", 1);
  const bool kstride = options_.kstride_size() > 0;
  const bool holes = options_.hole_size() > 0 || options_.has_hole_h() || options_.has_hole_w();
  if (kstride && holes)
    throw FieldError(path("kstride[0]"), "kstride and hole are both set", "keep one: they are names of dilation");
  if (!kstride && !holes) return dilation;
  const Option hole = read(kstride ? "kstride" : "hole", 1);
  const size_t n = std::max(hole.values.size(), dilation.values.size());
  bool same = hole.values.size() == 1 || dilation.values.size() == 1 || hole.values.size() == dilation.values.size();
  for (size_t i = 0; same && i < n; ++i) same = hole.value(i) == dilation.value(i);
  if (options_.dilation_size() > 0 && !same)
    throw FieldError(hole.fields[0], hole.name + " contradicts dilation",
                     "set one: they are two names of the same option");
  return hole;
}

ConvWindow::ConvWindow(const caffe::ConvolutionParameter& options, bool has_filters, const std::string& message,
                       bool volumes)
    : options_(options),
      message_(message),
      volumes_(volumes),
      kernel_(read("kernel_size", 0)),
      pad_(read("pad", 0)),
      stride_(read("stride", 1)),
      dilation_(read_dilation()) {
  refuse_fields(options, message, {"kernel_depth", "temporal_pad", "temporal_stride"},
                "use them only in Convolution3D and Deconvolution3D");
  if (has_filters) check_filters();
  check_kernel();
  for (const Option* option : {&kernel_, &stride_, &dilation_})
    for (size_t i = 0; i < option->values.size(); ++i)
      if (option->values[i] == 0)
        throw FieldError(option->fields[i], option->name + " is 0",
                         option == &stride_ ? "the stride must be at least 1" : "it must be at least 1");
}

void ConvWindow::check_filters() const {
  if (options_.num_output() == 0)
    throw FieldError(path(options_.has_num_output() ? "num_output" : ""),
                     options_.has_num_output() ? "num_output is 0" : "num_output is missing",
                     "set the number of filters");
  if (options_.group() == 0) throw FieldError(path("group"), "group is 0", "remove it, or set 1 for a single group");
}

void ConvWindow::check_kernel() const {
  const bool none = options_.kernel_size_size() == 0 && !options_.has_kernel_h() && !options_.has_kernel_w();
  const bool half = options_.has_kernel_h() != options_.has_kernel_w();
  if (none || half)
    throw FieldError(none ? path("") : kernel_.fields[0],
                     none ? "the kernel size is missing" : "only one side of the kernel is set",
                     "set kernel_size, or kernel_h and kernel_w");
}

int ConvWindow::channel_axis(const Shape& x, const std::string& bottom) const {
  const int axis = x.canonical_axis(options_.axis());
  const int spatial = x.axes() - axis - 1;
  if (axis >= 0 && spatial >= 1 && spatial <= kernels::kMaxConvAxes && (!volumes_ || spatial == 3)) return axis;
  const std::string shape = "its shape is " + x.str();
  if (volumes_) throw FieldError(bottom, shape + ", but must be N x C x L x H x W");
  if (!options_.has_axis())
    throw FieldError(bottom, shape + "; convolution needs N x C x H x W, or N x C and one to " +
                                 std::to_string(kernels::kMaxConvAxes) + " spatial axes");
  throw FieldError(
      path("axis"), "axis is " + std::to_string(options_.axis()) + ", but bottom[0] has shape " + x.str(),
      "after the axis of the channels there must be one to " + std::to_string(kernels::kMaxConvAxes) + " spatial axes");
}

bool ConvWindow::is_of_images(const Shape& x) const { return x.axes() == 4 && channel_axis(x, "bottom[0]") == 1; }

kernels::ConvShape ConvWindow::shape_for(const Shape& x, const std::vector<kernels::ConvAxis>& axes) const {
  kernels::ConvShape shape{.n = x.count(0, channel_axis(x, "bottom[0]")), .groups = options_.group()};
  shape.spatial_axes = int(axes.size());
  shape.w = axes.back();
  if (axes.size() >= 2) shape.h = axes[axes.size() - 2];
  if (axes.size() > 2) shape.outer.assign(axes.begin(), axes.end() - 2);
  return shape;
}

Shape ConvWindow::replaced(Shape x, int64_t channels, const std::vector<int64_t>& extents) const {
  const int axis = channel_axis(x, "bottom[0]");
  x[axis] = channels;
  for (size_t i = 0; i < extents.size(); ++i) x[axis + 1 + int(i)] = extents[i];
  return x;
}

void ConvWindow::check_operands(const std::vector<Shape>& x, size_t tops) const {
  if (tops != x.size())
    throw FieldError("top",
                     "the layer has " + std::to_string(x.size()) + " bottoms and " + std::to_string(tops) + " tops",
                     "give each bottom one top");
  require_same_shapes(x);
}

LayerShapes ConvWindow::layer_shapes(const std::vector<Shape>& x, const Shape& w, int64_t channels,
                                     const std::vector<int64_t>& extents) const {
  LayerShapes shapes;
  shapes.y.assign(x.size(), replaced(x[0], channels, extents));
  shapes.w = {filled_weight(options_.weight_filler(), w, path("weight_filler"))};
  if (options_.bias_term()) shapes.w.push_back(filled_weight(options_.bias_filler(), {channels}, path("bias_filler")));
  return shapes;
}

std::vector<kernels::ConvAxis> ConvWindow::axes_for(const Shape& x, const std::string& bottom) const {
  const int first = channel_axis(x, bottom) + 1, spatial = x.axes() - first;
  for (const Option* option : {&kernel_, &pad_, &stride_, &dilation_})
    if (option->values.size() != 1 && option->values.size() != size_t(spatial))
      throw FieldError(option->fields.back(),
                       option->name + " has " + count_of(int64_t(option->values.size()), "value", "values") +
                           ", but bottom[0] has shape " + x.str(),
                       "set one for all spatial axes, or one for each");
  std::vector<kernels::ConvAxis> axes;
  for (size_t i = 0; i < size_t(spatial); ++i)
    axes.push_back({x[int(i) + first], kernel_.value(i), stride_.value(i), pad_.value(i), dilation_.value(i)});
  return axes;
}

void ConvWindow::check_kernel_fits(const std::vector<kernels::ConvAxis>& axes) const {
  std::vector<int64_t> in, padded;
  for (const auto& axis : axes) {
    in.push_back(axis.in);
    padded.push_back(axis.in + 2 * axis.pad);
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto& axis = axes[i];
    if (axis.extent() <= padded[i]) continue;
    const std::string& field = kernel_.field(i);
    const std::string name = field.substr(field.find('.') + 1, field.find('[') - field.find('.') - 1);
    const std::string dilated = axis.dilation == 1 ? ""
                                                   : ", dilated to " + std::to_string(axis.extent()) + " by dilation " +
                                                         std::to_string(axis.dilation);
    throw FieldError(
        field,
        name + " is " + std::to_string(axis.kernel) + dilated + ", larger than its padded input " + sizes_text(padded),
        "the input is " + sizes_text(in) + " and pad adds " + std::to_string(axis.pad) + " on each side");
  }
}

void ConvWindow::check_group() const {
  const int64_t group = options_.group(), filters = options_.num_output();
  if (group > 0 && filters % group != 0)
    throw FieldError(
        path("group"),
        "group is " + std::to_string(group) + ", which does not divide num_output, " + std::to_string(filters),
        "group must divide num_output and the channels of bottom[0]");
}

void ConvWindow::check_channels(int64_t channels) const {
  const int64_t group = options_.group(), filters = options_.num_output();
  if (channels == 0) throw FieldError("bottom[0]", "it has no channels");
  if (channels % group == 0 && filters % group == 0) return;
  throw FieldError(path("group"),
                   "group is " + std::to_string(group) + ", which does not divide " +
                       (channels % group ? "the " + std::to_string(channels) + " channels of bottom[0]"
                                         : "num_output, " + std::to_string(filters)),
                   "bottom[0] has " + count_of(channels, "channel", "channels") + " and num_output is " +
                       std::to_string(filters) + "; group must divide both");
}

}  // namespace cortado
