#include <array>

#include "core/error.h"
#include "core/loops/exceeds.h"
#include "core/text/text.h"
#include "layers/common/loops/typed.h"
#include "layers/common/windows/pool_window.h"
#include "layers/types/volume_pooling.h"

namespace cortado {

namespace {

using VolumePoolingOptions = caffe::PoolingParameter;

constexpr int kAxes = 3;

/// Windows along one axis.
struct VolumePoolingSide {
  int64_t in, out, kernel, stride, pad, dilation;

  CORTADO_HD int64_t extent() const { return (kernel - 1) * dilation + 1; }
  CORTADO_HD int64_t start(int64_t o) const { return o * stride - pad; }
  /// Window o has the values begin, begin + dilation and so on, before end.
  CORTADO_HD int64_t begin(int64_t o) const {
    const int64_t first = start(o);
    return first >= 0 ? first : first + steps(-first) * dilation;
  }
  CORTADO_HD int64_t end(int64_t o) const { return start(o) + extent() < in ? start(o) + extent() : in; }
  /// The number of values of window o in the divisor of an average.
  CORTADO_HD int64_t length(int64_t o, bool counts_padding) const {
    const int64_t stop = start(o) + extent() < in + pad ? start(o) + extent() : in + pad;
    if (counts_padding) return steps(stop - start(o));
    return end(o) > begin(o) ? steps(end(o) - begin(o)) : 0;
  }
  /// The windows that contain input i: those of [first_over, end_over) that have().
  CORTADO_HD int64_t first_over(int64_t i) const { return i + pad < extent() ? 0 : (i + pad - extent()) / stride + 1; }
  CORTADO_HD int64_t end_over(int64_t i) const {
    const int64_t end = (i + pad) / stride + 1;
    return end < out ? end : out;
  }
  CORTADO_HD bool has(int64_t o, int64_t i) const { return dilation == 1 || (i - start(o)) % dilation == 0; }

 private:
  CORTADO_HD int64_t steps(int64_t length) const { return (length + dilation - 1) / dilation; }
};

/// A position in a volume, or a window of y.
struct VolumePoolingPlace {
  int64_t plane, d, h, w;
};

struct Volume {
  VolumePoolingSide d, h, w;
  bool counts_padding;

  CORTADO_HD static VolumePoolingPlace place(int64_t i, int64_t depth, int64_t height, int64_t width) {
    return {i / width / height / depth, i / width / height % depth, i / width % height, i % width};
  }
  CORTADO_HD VolumePoolingPlace of_x(int64_t i) const { return place(i, d.in, h.in, w.in); }
  CORTADO_HD VolumePoolingPlace of_y(int64_t o) const { return place(o, d.out, h.out, w.out); }
  CORTADO_HD int64_t first_x(int64_t plane) const { return plane * d.in * h.in * w.in; }
  CORTADO_HD int64_t x_at(int64_t z, int64_t r, int64_t c) const { return (z * h.in + r) * w.in + c; }
  CORTADO_HD int64_t y_at(const VolumePoolingPlace& o) const {
    return ((o.plane * d.out + o.d) * h.out + o.h) * w.out + o.w;
  }
  CORTADO_HD float share(const VolumePoolingPlace& o) const {
    const int64_t size = d.length(o.d, counts_padding) * h.length(o.h, counts_padding) * w.length(o.w, counts_padding);
    return size > 0 ? 1 / float(size) : 0;
  }
};

template <typename T>
struct Maximum {
  const T* x;
  T* y;
  int32_t* places;  ///< within the volume, -1 for an empty window; null: not needed
  Volume volume;

  CORTADO_HD void operator()(int64_t o) const {
    const VolumePoolingPlace at = volume.of_y(o);
    const T* from = x + volume.first_x(at.plane);
    float best = 0;
    int64_t place = -1;
    for (int64_t z = volume.d.begin(at.d); z < volume.d.end(at.d); z += volume.d.dilation)
      for (int64_t r = volume.h.begin(at.h); r < volume.h.end(at.h); r += volume.h.dilation)
        for (int64_t c = volume.w.begin(at.w); c < volume.w.end(at.w); c += volume.w.dilation) {
          const int64_t i = volume.x_at(z, r, c);
          const float value = from[i];
          if (place < 0 || exceeds(value, best)) best = value, place = i;
        }
    y[o] = best;
    if (places) places[o] = int32_t(place);
  }
};

template <typename T>
struct Average {
  const T* x;
  T* y;
  Volume volume;

  CORTADO_HD void operator()(int64_t o) const {
    const VolumePoolingPlace at = volume.of_y(o);
    const T* from = x + volume.first_x(at.plane);
    float sum = 0;
    for (int64_t z = volume.d.begin(at.d); z < volume.d.end(at.d); z += volume.d.dilation)
      for (int64_t r = volume.h.begin(at.h); r < volume.h.end(at.h); r += volume.h.dilation)
        for (int64_t c = volume.w.begin(at.w); c < volume.w.end(at.w); c += volume.w.dilation)
          sum += float(from[volume.x_at(z, r, c)]);
    y[o] = sum * volume.share(at);
  }
};

/// The sum of the gradients of all windows over one element of x.
template <typename T>
struct VolumePoolingGradient {
  T* dx;
  const T* dy;
  Volume volume;
  const int32_t* places;  ///< of maxima; null: average

  CORTADO_HD float from(const VolumePoolingPlace& window, int64_t place) const {
    const int64_t o = volume.y_at(window);
    if (!places) return float(dy[o]) * volume.share(window);
    return places[o] == place ? float(dy[o]) : 0;
  }
  CORTADO_HD void operator()(int64_t i) const {
    const VolumePoolingPlace at = volume.of_x(i);
    const int64_t place = volume.x_at(at.d, at.h, at.w);
    float sum = 0;
    for (int64_t z = volume.d.first_over(at.d); z < volume.d.end_over(at.d); ++z)
      for (int64_t r = volume.h.first_over(at.h); r < volume.h.end_over(at.h); ++r)
        for (int64_t c = volume.w.first_over(at.w); c < volume.w.end_over(at.w); ++c)
          if (volume.d.has(z, at.d) && volume.h.has(r, at.h) && volume.w.has(c, at.w))
            sum += from({at.plane, z, r, c}, place);
    dx[i] = sum;
  }
};

VolumeWindows::Option volume_option_of(const google::protobuf::RepeatedField<uint32_t>& values, const std::string& name,
                                       int64_t absent, const std::string& absent_field) {
  if (values.empty()) return {{absent}, {"pooling_param." + absent_field}};
  return {{values.begin(), values.end()}, std::vector<std::string>(size_t(values.size()), "pooling_param." + name)};
}

/// Windows over images, which may have one value for each side.
VolumeWindows windows_of_images(const VolumePoolingOptions& options) {
  const PoolWindow window(options);
  const auto option = [](const PoolWindow::Pair& pair, bool sides, const std::string& name) -> VolumeWindows::Option {
    if (!sides) return {{pair.h}, {"pooling_param." + (name == "kernel" ? "kernel_size" : name)}};
    return {{pair.h, pair.w}, {"pooling_param." + name + "_h", "pooling_param." + name + "_w"}};
  };
  VolumeWindows windows;
  windows.kernel = option(window.kernel, options.has_kernel_h(), "kernel");
  windows.stride = option(window.stride, options.has_stride_h() || options.has_stride_w(), "stride");
  windows.pad = option(window.pad, options.has_pad_h() || options.has_pad_w(), "pad");
  return windows;
}

VolumeWindows windows_of_lists(const VolumePoolingOptions& o) {
  VolumeWindows windows;
  windows.kernel = volume_option_of(o.kernel_size_3d(), "kernel_size_3d", o.kernel_size(), "kernel_size");
  windows.stride = volume_option_of(o.stride_3d(), "stride_3d", o.stride(), "stride");
  windows.pad = volume_option_of(o.pad_3d(), "pad_3d", o.pad(), "pad");
  return windows;
}

bool has_sides(const VolumePoolingOptions& o) {
  return o.has_kernel_h() || o.has_kernel_w() || o.has_stride_h() || o.has_stride_w() || o.has_pad_h() || o.has_pad_w();
}

void refuse_other_fields(const LayerOptions& options, bool sides) {
  const VolumePoolingOptions& o = options.config.pooling_param();
  const std::pair<const char*, bool> others[] = {
      {"kernel_size", o.has_kernel_size() && o.kernel_size_3d_size() > 0},
      {"kernel_h", !sides && o.has_kernel_h()},
      {"kernel_w", !sides && o.has_kernel_w()},
      {"stride_h", !sides && o.has_stride_h()},
      {"stride_w", !sides && o.has_stride_w()},
      {"pad_h", !sides && o.has_pad_h()},
      {"pad_w", !sides && o.has_pad_w()},
      {"global_pooling", o.global_pooling()},
      {"stride", o.has_stride() && o.stride_3d_size() > 0},
      {"pad", o.has_pad() && o.pad_3d_size() > 0},
      {"kernel_depth", o.has_kernel_depth()},
      {"temporal_stride", o.has_temporal_stride()},
      {"temporal_pad", o.has_temporal_pad()},
  };
  for (const auto& [name, set] : others)
    if (set)
      throw FieldError(std::string("pooling_param.") + name,
                       std::string(name) + " contradicts the fields of three axes",
                       "use kernel_size_3d, stride_3d and pad_3d for windows over three axes");
  if (o.pool() == VolumePoolingOptions::STOCHASTIC)
    throw FieldError("pooling_param.pool", "windows over three axes, or with dilation, support only MAX and AVE");
  if (options.config.top_size() > 1)
    throw FieldError("top[1]", "only MAX over two axes without dilation supports a second top, the maxima's positions");
}

void check(const VolumeWindows& windows) {
  for (size_t i = 0; i < windows.kernel.values.size(); ++i)
    if (windows.kernel.values[i] == 0)
      throw FieldError(windows.kernel.fields[i], "the window is 0, but must be at least 1");
  for (size_t i = 0; i < windows.stride.values.size(); ++i)
    if (windows.stride.values[i] == 0)
      throw FieldError(windows.stride.fields[i], "the stride is 0, but must be at least 1");
}

/// The value of one of x's `axes` axes, and its field.
struct OfAxis {
  int64_t value;
  std::string field;
};
OfAxis of_axis(const VolumeWindows::Option& option, int axes, int axis) {
  const size_t n = option.values.size();
  if (n != 1 && n != size_t(axes))
    throw FieldError(entry(option.fields[0], int64_t(n) - 1),
                     "it has " + std::to_string(n) + " values for " + count_of(axes, "axis", "axes"),
                     "set one for all axes, or one for each");
  const size_t i = n == 1 ? 0 : size_t(axis);
  return {option.values[i], option.fields[i]};
}

class VolumePoolingLayer : public Layer {
 public:
  explicit VolumePoolingLayer(const VolumeWindows& windows) : windows_(windows) { check(windows_); }

  LayerShapes infer(const std::vector<Shape>& x) override;
  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kFollow}; }

  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    LayerNeeds needs;
    if (request.backward && maxima()) needs.saved = {request.y[0].shape.count() * int64_t(sizeof(int32_t))};
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    if (maxima())
      for_each_typed_y<Maximum>(context, io, io.x[0], io.y[0], places(io), volume_);
    else
      for_each_typed_y<Average>(context, io, io.x[0], io.y[0], volume_);
  }

  void backward(Context& context, const Operands& io) override {
    for_each_typed<VolumePoolingGradient>(context, io.dx[0], io.dy[0], volume_,
                                          static_cast<const int32_t*>(places(io)));
  }

  int64_t flops(const std::vector<Shape>&, const std::vector<Shape>& y) const override {
    return y[0].count() * volume_.d.kernel * volume_.h.kernel * volume_.w.kernel;
  }

 private:
  /// One call for each element of y.
  template <template <typename> class Functor, typename... Members>
  void for_each_typed_y(Context& context, const Operands& io, const Members&... members) const {
    with_functor<Functor>([&](const auto& functor) { for_each(context, io.y[0].count(), functor); }, members...);
  }

  bool maxima() const { return !windows_.average; }
  static int32_t* places(const Operands& io) { return io.saved.empty() ? nullptr : static_cast<int32_t*>(io.saved[0]); }
  VolumePoolingSide side(const Shape& x, int axis) const;

  VolumeWindows windows_;
  Volume volume_{};
};

/// The windows along one of the three axes; an axis that x does not have has an extent of 1.
VolumePoolingSide VolumePoolingLayer::side(const Shape& x, int axis) const {
  const int axes = x.axes() - 2, own = axis - (kAxes - axes);
  if (own < 0) return {1, 1, 1, 1, 0, 1};
  const OfAxis kernel = of_axis(windows_.kernel, axes, own), stride = of_axis(windows_.stride, axes, own),
               pad = of_axis(windows_.pad, axes, own), dilation = of_axis(windows_.dilation, axes, own);
  if (pad.value >= kernel.value)
    throw FieldError(
        pad.field,
        "the padding " + std::to_string(pad.value) + " is not smaller than the window " + std::to_string(kernel.value),
        "set a smaller padding: some windows would contain only padding");
  VolumePoolingSide side{x[2 + own], 0, kernel.value, stride.value, pad.value, dilation.value};
  side.out = number_of_windows(side.in, side.extent(), side.stride, side.pad, windows_.up);
  if (side.out > 0) return side;
  throw FieldError(kernel.field, "the window is " + std::to_string(side.kernel) +
                                     (side.dilation > 1 ? ", dilated to " + std::to_string(side.extent()) : "") +
                                     ", larger than its padded input " + std::to_string(side.in + 2 * side.pad) +
                                     ", on axis " + std::to_string(2 + own) + " of " + x.str());
}

LayerShapes VolumePoolingLayer::infer(const std::vector<Shape>& x) {
  const int axes = x[0].axes() - 2;
  if (axes > kAxes || axes < (windows_.any_axes ? 1 : kAxes))
    throw FieldError("bottom[0]", "its shape is " + x[0].str() + "; windows over three axes need N x C x D x H x W",
                     windows_.any_axes ? "one or two axes after the channels are also supported" : "");
  if (x[0].count(2) > INT32_MAX) throw FieldError("bottom[0]", "a volume of more than 2^31 values is too large");
  volume_ = {side(x[0], 0), side(x[0], 1), side(x[0], 2), windows_.counts_padding};
  if (double(volume_.d.kernel) * double(volume_.h.kernel) * double(volume_.w.kernel) > INT32_MAX)
    throw FieldError(windows_.kernel.fields[0], "a window of more than 2^31 values is too large");
  const int64_t out[kAxes] = {volume_.d.out, volume_.h.out, volume_.w.out};
  Shape y = x[0];
  for (int own = 0; own < axes; ++own) y[2 + own] = out[own + kAxes - axes];
  return {.y = {y}, .w = {}};
}

}  // namespace

std::unique_ptr<Layer> make_volume_pooling(const VolumeWindows& windows) {
  return std::make_unique<VolumePoolingLayer>(windows);
}

std::unique_ptr<Layer> make_volume_pooling(const LayerOptions& options) {
  const VolumePoolingOptions& o = options.config.pooling_param();
  const PoolDilation dilation = pool_dilation(o);
  const bool of_images = !dilation.none() && o.kernel_size_3d_size() == 0 && has_sides(o);
  refuse_other_fields(options, of_images);
  check_channel_axis(o, Shape{1, 1, 1, 1, 1});
  VolumeWindows windows = of_images ? windows_of_images(o) : windows_of_lists(o);
  windows.dilation = {dilation.values, std::vector<std::string>(dilation.values.size(), dilation.field)};
  windows.any_axes = !dilation.none() || o.kernel_size_3d_size() == kAxes - 1;
  windows.average = o.pool() == VolumePoolingOptions::AVE;
  windows.up = rounds_up(o);
  windows.counts_padding = o.avg_include_pad();
  return make_volume_pooling(windows);
}

}  // namespace cortado
