#include "layers/conv_window.h"

#include "core/error.h"
#include "layers/words.h"

namespace cortado {

namespace {

constexpr int64_t kMost = INT32_MAX;  ///< products of two such numbers still fit

std::string path(const std::string& field) {
  return field.empty() ? "convolution_param" : "convolution_param." + field;
}

/// "7", or "5x7".
std::string text_of(const std::vector<int64_t>& sizes) { return Shape(sizes).str(); }

}  // namespace

/// The option called `name` by reflection: its repeated field, or the pair name_h and name_w (kernel_size: kernel_h,
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
                       "give either " + name + ", or " + stem + "_h and " + stem + "_w");
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
  for (size_t i = 0; i < option.values.size(); ++i)
    if (option.values[i] > kMost)
      throw FieldError(option.fields[i], std::to_string(option.values[i]) + " is too large");
  return option;
}

ConvWindow::ConvWindow(const caffe::ConvolutionParameter& options, bool has_filters)
    : options_(options),
      kernel_(read("kernel_size", 0)),
      pad_(read("pad", 0)),
      stride_(read("stride", 1)),
      dilation_(read("dilation", 1)) {
  if (has_filters && options.num_output() == 0)
    throw FieldError(path(options.has_num_output() ? "num_output" : ""),
                     options.has_num_output() ? "num_output is 0" : "num_output is missing",
                     "give the number of filters");
  if (has_filters && options.group() == 0)
    throw FieldError(path("group"), "group is 0", "leave it out, or write 1, for a single group");
  if (options.axis() != 1)
    throw FieldError(path("axis"), "axis is " + std::to_string(options.axis()) + "; only axis 1 can hold the channels");
  const bool none = options.kernel_size_size() == 0 && !options.has_kernel_h() && !options.has_kernel_w();
  const bool half = options.has_kernel_h() != options.has_kernel_w();
  if (none || half)
    throw FieldError(none ? path("") : kernel_.fields[0],
                     none ? "the size of the kernel is missing" : "only one side of the kernel is given",
                     "write kernel_size, or kernel_h and kernel_w");
  for (const Option* option : {&kernel_, &stride_, &dilation_})
    for (size_t i = 0; i < option->values.size(); ++i)
      if (option->values[i] == 0)
        throw FieldError(option->fields[i], option->name + " is 0",
                         option == &stride_ ? "a stride of 0 never moves on" : "it must be at least 1");
}

std::vector<kernels::ConvAxis> ConvWindow::axes_for(const Shape& x, const std::string& bottom) const {
  const int spatial = x.axes() - 2;
  if (spatial < 1 || spatial > 2)
    throw FieldError(bottom, "its shape is " + x.str() + "; convolution needs N x C x H x W, or N x C x W");
  for (const Option* option : {&kernel_, &pad_, &stride_, &dilation_})
    if (option->values.size() != 1 && option->values.size() != size_t(spatial))
      throw FieldError(option->fields.back(),
                       option->name + " has " + count_of(int64_t(option->values.size()), "value", "values") +
                           ", but bottom[0] has shape " + x.str(),
                       "give one for all spatial axes, or one for each");
  std::vector<kernels::ConvAxis> axes;
  for (size_t i = 0; i < size_t(spatial); ++i)
    axes.push_back({x[int(i) + 2], kernel_.value(i), stride_.value(i), pad_.value(i), dilation_.value(i)});
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
                                                   : ", spread over " + std::to_string(axis.extent()) +
                                                         " by dilation " + std::to_string(axis.dilation);
    throw FieldError(
        field,
        name + " is " + std::to_string(axis.kernel) + dilated + ", larger than its padded input " + text_of(padded),
        "the input is " + text_of(in) + " and pad adds " + std::to_string(axis.pad) + " on each side");
  }
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
