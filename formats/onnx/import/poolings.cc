// Max and average pooling. A layer pads both ends of an axis equally, and rounds the number of windows up or down on
// all axes. The rounding that yields the model's number of windows is chosen.
#include <algorithm>

#include "layers/common/windows/pool_window.h"
#include "onnx/import/table.h"
#include "onnx/import/windows.h"

namespace cortado::importing {

namespace {

/// The number of windows of the model along an axis.
int64_t windows_of(const Window& window, size_t axis, int64_t in, bool up) {
  const int64_t before = window.padding.before[axis], stride = window.strides[axis];
  const int64_t room = in + before + window.padding.behind[axis] - window.kernel[axis];
  if (room < 0) return 0;
  const int64_t out = (room + (up ? stride - 1 : 0)) / stride + 1;
  return up && (out - 1) * stride >= in + before ? out - 1 : out;
}

/// Whether the layer has the same number of windows with this padding on both ends.
bool counts_alike(const Window& window, const Shape& x, bool model_up, bool up) {
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    const int64_t in = x[int(i) + 2];
    if (number_of_windows(in, window.kernel[i], window.strides[i], window.padding.before[i], up) !=
        windows_of(window, i, in, model_up))
      return false;
  }
  return true;
}

void set_pooling_window(caffe::PoolingParameter& param, const Window& window, bool up) {
  if (!up) param.set_round_mode(caffe::PoolingParameter::FLOOR);
  const auto &kernel = window.kernel, &strides = window.strides, &pads = window.padding.before;
  if (kernel.size() == 3) {
    for (size_t i = 0; i < 3; ++i) {
      param.add_kernel_size_3d(uint32_t(kernel[i]));
      param.add_stride_3d(uint32_t(strides[i]));
      param.add_pad_3d(uint32_t(pads[i]));
    }
    return;
  }
  const auto set = [&](const std::vector<int64_t>& list, auto set_both, auto set_h, auto set_w) {
    if (list[0] == list[1]) return (param.*set_both)(uint32_t(list[0]));
    (param.*set_h)(uint32_t(list[0]));
    (param.*set_w)(uint32_t(list[1]));
  };
  using Param = caffe::PoolingParameter;
  set(kernel, &Param::set_kernel_size, &Param::set_kernel_h, &Param::set_kernel_w);
  if (strides != std::vector<int64_t>{1, 1})
    set(strides, &Param::set_stride, &Param::set_stride_h, &Param::set_stride_w);
  if (pads != std::vector<int64_t>{0, 0}) set(pads, &Param::set_pad, &Param::set_pad_h, &Param::set_pad_w);
}

Window window_of(NodeReader& node, const Shape& x) {
  const Window window = read_window(node, x, node.integers("kernel_shape"));
  if (x.axes() != 4 && x.axes() != 5)
    node.fail("an input of shape " + x.str() + " is not supported", "use images (4 axes) or volumes (5 axes)");
  for (const int64_t dilation : window.dilations)
    if (dilation != 1) node.fail("dilations are not supported");
  return window;
}

void finish_pool(NodeReader& node, const Blob& x, caffe::LayerParameter layer, const Window& window) {
  const bool model_up = node.integer("ceil_mode", 0) != 0;
  for (const bool up : {model_up, !model_up}) {
    if (!counts_alike(window, x.shape, model_up, up)) continue;
    set_pooling_window(*layer.mutable_pooling_param(), window, up);
    return node.finish(layer, {x});
  }
  node.fail("the padding of the two ends of an axis differs, which no rounding mode of a layer matches",
            "use a Pad node before it");
}

void read_max_pool(NodeReader& node) {
  if (node.has_output(1)) node.fail("the second output, the indices of maxima, is not supported");
  const Blob x = node.x(0);
  finish_pool(node, x, NodeReader::layer("Pooling"), window_of(node, x.shape));
}

/// If padding counts, it is the same as zeros around the input.
void read_average_pool(NodeReader& node) {
  std::optional<Padding> around;
  Blob x = node.x(0, around);
  Window window = window_of(node, x.shape);
  const auto is_zero = [](const std::vector<int64_t>& list) {
    return std::all_of(list.begin(), list.end(), [](int64_t one) { return one == 0; });
  };
  const bool pads = !is_zero(window.padding.before) || !is_zero(window.padding.behind);
  const bool counts = node.integer("count_include_pad", 0) != 0 || !pads;
  if (around && counts && !node.integer("ceil_mode", 0)) {
    add_padding(window.padding, *around);
  } else if (around) {
    x = node.padded(x, *around);
  }
  if (counts && window.padding.before != window.padding.behind) {
    x = node.padded(x, window.padding);
    window.padding = {std::vector<int64_t>(window.kernel.size(), 0), std::vector<int64_t>(window.kernel.size(), 0)};
  }
  caffe::LayerParameter layer = NodeReader::layer("Pooling");
  layer.mutable_pooling_param()->set_pool(caffe::PoolingParameter::AVE);
  if (!counts) layer.mutable_pooling_param()->set_avg_include_pad(false);
  finish_pool(node, x, layer, window);
}

void finish_global(NodeReader& node, bool average) {
  const Blob x = node.x(0);
  if (x.shape.axes() != 4) node.fail("an input of shape " + x.shape.str() + " is not supported", "use images (4 axes)");
  caffe::LayerParameter layer = NodeReader::layer("Pooling");
  if (average) layer.mutable_pooling_param()->set_pool(caffe::PoolingParameter::AVE);
  layer.mutable_pooling_param()->set_global_pooling(true);
  node.finish(layer, {x});
}

void read_global_average(NodeReader& node) { finish_global(node, true); }
void read_global_max(NodeReader& node) { finish_global(node, false); }

}  // namespace

void add_poolings(Table& table) {
  table.insert({{"MaxPool", read_max_pool},
                {"AveragePool", read_average_pool},
                {"GlobalAveragePool", read_global_average},
                {"GlobalMaxPool", read_global_max}});
}

}  // namespace cortado::importing
