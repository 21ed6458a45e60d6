// Max and average pooling. Caffe rounds the number of windows up, and the last one may exceed the image. An average is
// divided by the window's area within the padded image. The padding is chosen so that ONNX's floor mode yields the same
// windows, because runtimes disagree about ceil_mode. With a stride above the kernel the last window may lie beyond the
// image. Its result is 0, but ONNX Runtime refuses padding of a whole window: a Pad after the pooling adds it.
#include "layers/common/windows/pool_window.h"
#include "onnx/export/operators.h"
#include "onnx/export/table.h"

namespace cortado::exporting {

namespace {

struct Window {
  int64_t in, out, kernel, stride, pad;

  /// Whether the last window lies beyond the image.
  bool ends_empty() const { return (out - 1) * stride - pad >= in; }
  /// The end padding that yields all windows but an empty one when rounding down.
  int64_t behind() const {
    const int64_t room = in + 2 * pad - kernel, count = out - ends_empty();
    if (room >= 0 && room / stride + 1 == count) return pad;
    return (count - 1) * stride + kernel - in - pad;
  }
};

struct Pooling {
  std::vector<Window> windows;
  bool average = false, counts_padding = true;
};

bool pads(const Pooling& pooling) {
  for (const Window& window : pooling.windows)
    if (window.pad > 0) return true;
  return false;
}

Attributes pooling_attributes(const Pooling& pooling) {
  std::vector<int64_t> kernel, strides, before, behind;
  for (const Window& window : pooling.windows) {
    kernel.push_back(window.kernel);
    strides.push_back(window.stride);
    before.push_back(window.pad);
    behind.push_back(window.behind());
  }
  before.insert(before.end(), behind.begin(), behind.end());
  return {{"kernel_shape", kernel}, {"strides", strides}, {"pads", before}};
}

/// Pads x with zeros for an average that counts its padding but not the rest. OpenCV 4.6 does not support
/// count_include_pad.
std::string padded_pooling(LayerWriter& layer, Pooling& pooling) {
  std::vector<int64_t> pads(2, 0);
  for (Window& window : pooling.windows) {
    pads.push_back(window.pad);
    window.in += 2 * window.pad;
    window.pad = 0;
  }
  const std::vector<int64_t> once = pads;
  pads.insert(pads.end(), once.begin(), once.end());
  return layer.add({"Pad", {layer.x[0].name, layer.integers("pads", pads)}});
}

/// Adds the results of empty windows; with none, `pooled` itself produces the top.
void finish_pooled(LayerWriter& layer, const Pooling& pooling, const Operation& pooled, size_t top = 0,
                   float empty = 0) {
  std::vector<int64_t> pads(pooling.windows.size() + 4, 0);
  for (const Window& window : pooling.windows) pads.push_back(window.ends_empty());
  if (std::ranges::count(pads, 0) == int64_t(pads.size())) return layer.finish(pooled, top);
  std::vector<std::string> inputs = {layer.add(pooled), layer.integers("pads", pads)};
  if (empty != 0) inputs.push_back(layer.number(empty));
  layer.finish({"Pad", inputs}, top);
}

Operation pool_of(LayerWriter& layer, Pooling pooling) {
  if (!pooling.average) return {"MaxPool", {layer.x[0].name}, pooling_attributes(pooling)};
  const std::string x = pooling.counts_padding && pads(pooling) ? padded_pooling(layer, pooling) : layer.x[0].name;
  return {"AveragePool", {x}, pooling_attributes(pooling)};
}

Window window_of(const LayerWriter& layer, int axis, int64_t kernel, int64_t stride, int64_t pad) {
  return {layer.x[0].shape[axis], layer.y[0].shape[axis], kernel, stride, pad};
}

/// Entry `i` of an option with one value for all axes, or one for each.
template <typename Values>
int64_t entry(const Values& values, int i, int64_t absent) {
  return values.empty() ? absent : int64_t(values[values.size() == 1 ? 0 : i]);
}

void add_volume_windows(const LayerWriter& layer, const caffe::PoolingParameter& o, Pooling& pooling) {
  for (int i = 0; i < layer.x[0].shape.axes() - 2; ++i)
    pooling.windows.push_back(window_of(layer, 2 + i, entry(o.kernel_size_3d(), i, o.kernel_size()),
                                        entry(o.stride_3d(), i, o.stride()), entry(o.pad_3d(), i, o.pad())));
}

/// The second top: the index of each maximum in its plane, as a float, or -1. ONNX counts through all planes.
void finish_with_indices(LayerWriter& layer, const Pooling& pooling) {
  const bool ends_empty = std::ranges::any_of(pooling.windows, &Window::ends_empty);
  const std::string maxima = ends_empty ? layer.new_name("Maxima") : layer.y[0].name,
                    indices = layer.new_name("Indices");
  layer.add_named(pool_of(layer, pooling), {maxima, indices});
  if (ends_empty) finish_pooled(layer, pooling, {"Identity", {maxima}});
  const std::string places = binary(layer, "Mod", indices, layer.integer(layer.x[0].shape.count(2)));
  finish_pooled(layer, pooling, {"Cast", {places}, {{"to", int64_t(onnx::TensorProto::FLOAT)}}}, 1, -1);
}

void write_pooling(LayerWriter& layer) {
  const auto& options = layer.config.pooling_param();
  if (options.pool() == caffe::PoolingParameter::STOCHASTIC)
    layer.refuse("stochastic pooling has no ONNX operator", {}, "pooling_param.pool");
  const PoolDilation dilation = pool_dilation(options);
  if (!dilation.none()) layer.refuse("dilated windows are not exported", {}, dilation.field + "[0]");
  const bool average = options.pool() == caffe::PoolingParameter::AVE;
  const bool indices = layer.y.size() > 1;
  if (indices && layer.x[0].shape.axes() != 4)
    layer.refuse("only images can have indices of maxima", "remove the second top", "top[1]");
  if (options.global_pooling() && !indices)
    return layer.finish({average ? "GlobalAveragePool" : "GlobalMaxPool", {layer.x[0].name}});
  Pooling pooling{{}, average, options.avg_include_pad()};
  if (layer.x[0].shape.axes() == 5 || options.kernel_size_3d_size() > 0) {
    add_volume_windows(layer, options, pooling);
  } else {
    PoolWindow window(options);
    window.infer(layer.x[0].shape);
    pooling.windows = {window_of(layer, 2, window.kernel.h, window.stride.h, window.pad.h),
                       window_of(layer, 3, window.kernel.w, window.stride.w, window.pad.w)};
  }
  if (indices) return finish_with_indices(layer, pooling);
  finish_pooled(layer, pooling, pool_of(layer, pooling));
}

void write_pooling_nd(LayerWriter& layer) {
  const auto& o = layer.config.pooling_nd_param();
  Pooling pooling{{}, o.pool() == caffe::PoolingNDParameter::AVE};
  for (int axis = 2; axis < layer.x[0].shape.axes(); ++axis)
    pooling.windows.push_back(window_of(layer, axis, entry(o.kernel_size(), axis - 2, 0),
                                        entry(o.stride(), axis - 2, 1), entry(o.pad(), axis - 2, 0)));
  finish_pooled(layer, pooling, pool_of(layer, pooling));
}

template <typename Options>
void write_volumes(LayerWriter& layer, const Options& o) {
  Pooling pooling{{}, o.pool() == Options::AVE};
  pooling.windows = {window_of(layer, 2, o.kernel_depth(), o.temporal_stride(), o.temporal_pad()),
                     window_of(layer, 3, o.kernel_size(), o.stride(), o.pad()),
                     window_of(layer, 4, o.kernel_size(), o.stride(), o.pad())};
  finish_pooled(layer, pooling, pool_of(layer, pooling));
}

void write_pooling_3d(LayerWriter& layer) {
  if (layer.config.has_pooling3d_param()) return write_volumes(layer, layer.config.pooling3d_param());
  write_volumes(layer, layer.config.pooling_param());
}

/// Level l of the pyramid has 2^l x 2^l windows with a stride equal to their size. The first one begins before the
/// image (layers/types/spp.cu).
Window spp_window(int64_t in, int64_t parts) {
  const int64_t kernel = (in + parts - 1) / parts;
  return {in, parts, kernel, kernel, (kernel * parts - in + 1) / 2};
}

void write_spp(LayerWriter& layer) {
  const auto& options = layer.config.spp_param();
  const Shape& x = layer.x[0].shape;
  if (options.pool() == caffe::SPPParameter::STOCHASTIC)
    layer.refuse("stochastic pooling has no ONNX operator", {}, "spp_param.pool");
  std::vector<std::string> levels;
  for (uint32_t level = 0; level < options.pyramid_height(); ++level) {
    const int64_t parts = int64_t(1) << level;
    const Operation pool = pool_of(
        layer, {{spp_window(x[2], parts), spp_window(x[3], parts)}, options.pool() == caffe::SPPParameter::AVE});
    if (options.pyramid_height() == 1) return layer.finish(pool);
    levels.push_back(layer.add({"Flatten", {layer.add(pool)}, {{"axis", int64_t(1)}}}));
  }
  layer.finish({"Concat", levels, {{"axis", int64_t(1)}}});
}

}  // namespace

void add_poolings(Table& table) {
  table.insert({{"Pooling", write_pooling},
                {"PoolingND", write_pooling_nd},
                {"Pooling3D", write_pooling_3d},
                {"SPP", write_spp}});
}

}  // namespace cortado::exporting
