// Pooling. Caffe rounds the number of windows up. Where a layer has fewer, by rounding down, MAX keeps the first ones.
// AVE becomes a Convolution with equal weights for each channel, which rounds down, and counts padding. An average that
// does not count padding is multiplied by a map of factors.
//
// With padding, Caffe drops a last window that starts beyond the image and the first padding. Not all programs that
// read its nets do so; the compositions do not add such windows.
#include <algorithm>
#include <utility>

#include "graph/dialect/job.h"
#include "graph/dialect/slices.h"
#include "layers/common/windows/pool_window.h"

namespace cortado::dialect {

namespace {

constexpr const char* kOtherWindows = "Caffe has another number of windows, which no composition matches";

/// One axis of a pooling.
struct PoolSide {
  int64_t in, out, kernel, stride = 1, pad = 0;
};

struct Pooling {
  PoolSide h, w;
  bool average = false, counts_padding = true;

  bool pads() const { return h.pad > 0 || w.pad > 0; }
};

/// The number of windows of Caffe. It drops a last window if any axis has padding, other programs if this one has: 0
/// where that differs.
int64_t windows_in_caffe(const PoolSide& side) {
  const int64_t room = side.in + 2 * side.pad - side.kernel;
  const int64_t out = (room >= 0 ? (room + side.stride - 1) / side.stride : -(-room / side.stride)) + 1;
  if ((out - 1) * side.stride < side.in + side.pad) return out;
  return side.pad > 0 ? out - 1 : 0;
}

bool fits(const Pooling& pooling) {
  return windows_in_caffe(pooling.h) == pooling.h.out && windows_in_caffe(pooling.w) == pooling.w.out;
}

Blob add_pooling(Job& job, const Blob& x, const Pooling& pooling, bool torch = false) {
  caffe::LayerParameter layer = layer_of("Pooling");
  caffe::PoolingParameter& param = *layer.mutable_pooling_param();
  param.set_pool(pooling.average ? caffe::PoolingParameter::AVE : caffe::PoolingParameter::MAX);
  const auto set = [&](int64_t h, int64_t w, auto set_both, auto set_h, auto set_w) {
    if (h == w) return (param.*set_both)(uint32_t(h));
    (param.*set_h)(uint32_t(h));
    (param.*set_w)(uint32_t(w));
  };
  using Param = caffe::PoolingParameter;
  const PoolSide &h = pooling.h, &w = pooling.w;
  set(h.kernel, w.kernel, &Param::set_kernel_size, &Param::set_kernel_h, &Param::set_kernel_w);
  if (h.stride != 1 || w.stride != 1)
    set(h.stride, w.stride, &Param::set_stride, &Param::set_stride_h, &Param::set_stride_w);
  if (pooling.pads()) set(h.pad, w.pad, &Param::set_pad, &Param::set_pad_h, &Param::set_pad_w);
  if (torch) param.set_torch_pooling(true);
  return job.add(std::move(layer), {x});
}

/// The layer as Caffe has it, with at least as many windows.
Blob with_more_windows(Job& job, const Blob& x, const Pooling& pooling) {
  Blob y = add_pooling(job, x, pooling);
  for (const auto& [axis, side] : {std::pair{2, pooling.h}, {3, pooling.w}})
    if (windows_in_caffe(side) < side.out || y.shape[axis] != windows_in_caffe(side)) job.refuse(kOtherWindows);
  return y;
}

/// The factor of each average along an axis: its divisor in Caffe, the extent of the window within the padded input, by
/// the number of elements that are not padding.
std::vector<float> factors_of(const PoolSide& side, int64_t windows) {
  std::vector<float> list;
  for (int64_t i = 0; i < windows; ++i) {
    const int64_t start = i * side.stride - side.pad, end = std::min(start + side.kernel, side.in + side.pad);
    const int64_t inside = std::min(end, side.in) - std::max<int64_t>(start, 0);
    list.push_back(float(end - start) / float(std::max<int64_t>(1, inside)));
  }
  return list;
}

Blob without_padding(Job& job, const Blob& y, const Pooling& pooling) {
  BlobFile factors = filled(job, {y.shape[2], y.shape[3]}, 1);
  size_t at = 0;
  const std::vector<float> w = factors_of(pooling.w, y.shape[3]);
  for (const float h : factors_of(pooling.h, y.shape[2]))
    for (const float each : w) factors.data[at++] = h * each;
  caffe::LayerParameter layer = layer_of("Scale");
  layer.mutable_scale_param()->set_axis(2);
  layer.mutable_scale_param()->set_num_axes(2);
  return job.add(std::move(layer), {y}, {std::move(factors)});
}

Blob by_convolution(Job& job, const Blob& x, const Pooling& pooling) {
  const int64_t window = checked_mul(pooling.h.kernel, pooling.w.kernel);
  const FixedWindow fixed{
      {pooling.h.kernel, pooling.w.kernel}, {pooling.h.stride, pooling.w.stride}, {pooling.h.pad, pooling.w.pad}};
  const Blob y = by_channel(job, "Convolution", x, fixed, values(job, window, 1 / float(window)));
  if (y.shape[2] != pooling.h.out || y.shape[3] != pooling.w.out) job.refuse(kOtherWindows);
  return y;
}

Blob averages(Job& job, const Blob& x, const Pooling& pooling) {
  if (!pooling.counts_padding && pooling.pads()) {
    const Blob y = without_padding(job, with_more_windows(job, x, pooling), pooling);
    return cropped(job, y, pooling.h.out, pooling.w.out);
  }
  return fits(pooling) ? add_pooling(job, x, pooling) : by_convolution(job, x, pooling);
}

/// An axis without the elements beyond its last window, where Caffe would have another window without any element.
PoolSide without_rest(PoolSide side) {
  const int64_t used = (side.out - 1) * side.stride + side.kernel;
  if (side.pad == 0 && windows_in_caffe(side) == 0 && used < side.in) side.in = used;
  return side;
}

Blob pooled(Job& job, Blob x, Pooling pooling) {
  pooling.h = without_rest(pooling.h);
  pooling.w = without_rest(pooling.w);
  x = cropped(job, x, pooling.h.in, pooling.w.in);
  if (pooling.h.pad >= pooling.h.kernel || pooling.w.pad >= pooling.w.kernel)
    job.refuse("Caffe requires padding that is smaller than the window");
  if (pooling.average) return averages(job, x, pooling);
  return cropped(job, with_more_windows(job, x, pooling), pooling.h.out, pooling.w.out);
}

/// Values for each pooled axis, of a list with one for each or one for all.
template <typename List>
std::vector<int64_t> spread(const List& list, size_t axes, int64_t absent) {
  if (list.empty()) return std::vector<int64_t>(axes, absent);
  if (list.size() == 1) return std::vector<int64_t>(axes, int64_t(list[0]));
  return {list.begin(), list.end()};
}

/// A window over one, two or three axes after the channels.
struct Windows {
  std::vector<int64_t> kernel, stride, pad;
  bool average = false, counts_padding = true;
};

/// Pools height and width with all other axes as channels, then the axis before them.
Blob pooled_over(Job& job, const Windows& windows) {
  const Blob& x = job.x();
  const Shape& y = job.y();
  const int axes = x.shape.axes() - 2;
  for (const auto* list : {&windows.kernel, &windows.stride, &windows.pad})
    if (int(list->size()) != axes) job.refuse("its windows do not have the axes of " + x.shape.str());
  const auto side = [&](int i) {
    const size_t k = size_t(i);
    return PoolSide{x.shape[2 + i], y[2 + i], windows.kernel[k], windows.stride[k], windows.pad[k]};
  };
  const int64_t n = x.shape[0], c = x.shape[1];
  const PoolSide none{1, 1, 1};
  const bool average = windows.average, counts = windows.counts_padding;
  if (axes == 1) {
    const Blob flat = job.reshape(x, {n, c, x.shape[2], 1});
    return job.reshape(pooled(job, flat, {side(0), none, average, counts}), y);
  }
  if (axes == 2) return pooled(job, x, {side(0), side(1), average, counts});
  const PoolSide d = side(0), h = side(1), w = side(2);
  const Blob images = job.reshape(x, {n, c * d.in, h.in, w.in});
  const Blob flat = pooled(job, images, {h, w, average, counts});
  const Blob depths = job.reshape(flat, {n, c, d.in, h.out * w.out});
  PoolSide rest = none;
  rest.in = rest.out = h.out * w.out;
  return job.reshape(pooled(job, depths, {d, rest, average, counts}), y);
}

Blob compose_pooling(Job& job) {
  const caffe::PoolingParameter& param = job.layer().pooling_param();
  if (param.pool() == caffe::PoolingParameter::STOCHASTIC) job.refuse("its windows are random");
  if (!pool_dilation(param).none()) job.refuse("its windows are dilated");
  Windows windows;
  windows.average = param.pool() == caffe::PoolingParameter::AVE;
  windows.counts_padding = param.avg_include_pad();
  if (param.kernel_size_3d_size() > 0) {
    const size_t axes = size_t(std::max(job.x().shape.axes() - 2, 0));
    windows.kernel = spread(param.kernel_size_3d(), axes, 0);
    windows.stride = spread(param.stride_3d(), axes, param.stride());
    windows.pad = spread(param.pad_3d(), axes, param.pad());
    return pooled_over(job, windows);
  }
  if (job.x().shape.axes() == 5) {
    windows.kernel.assign(3, param.kernel_size());
    windows.stride.assign(3, param.stride());
    windows.pad.assign(3, param.pad());
    return pooled_over(job, windows);
  }
  PoolWindow window(param);
  window.infer(job.x().shape);
  windows.kernel = {window.kernel.h, window.kernel.w};
  windows.stride = {window.stride.h, window.stride.w};
  windows.pad = {window.pad.h, window.pad.w};
  const auto side = [&](int axis, int64_t kernel, int64_t stride, int64_t pad) {
    return PoolSide{job.x().shape[axis], job.y()[axis], kernel, stride, pad};
  };
  const Pooling pooling{side(2, window.kernel.h, window.stride.h, window.pad.h),
                        side(3, window.kernel.w, window.stride.w, window.pad.w), windows.average};
  if (!fits(pooling) && param.avg_include_pad() && job.has_field("PoolingParameter", "torch_pooling"))
    return add_pooling(job, job.x(), pooling, true);
  return pooled_over(job, windows);
}

Blob compose_pooling_nd(Job& job) {
  const caffe::PoolingNDParameter& param = job.layer().pooling_nd_param();
  const size_t axes = size_t(std::max(job.x().shape.axes() - 2, 0));
  return pooled_over(job, {spread(param.kernel_size(), axes, 0), spread(param.stride(), axes, 1),
                           spread(param.pad(), axes, 0), param.pool() == caffe::PoolingNDParameter::AVE});
}

/// The same fields in either message.
template <typename Param>
Windows depth_windows(const Param& param) {
  const auto list = [](uint32_t depth, uint32_t side) { return std::vector<int64_t>{depth, side, side}; };
  return {list(param.kernel_depth(), param.kernel_size()), list(param.temporal_stride(), param.stride()),
          list(param.temporal_pad(), param.pad()), param.pool() == Param::AVE};
}

Blob compose_pooling3d(Job& job) {
  const caffe::LayerParameter& layer = job.layer();
  return pooled_over(
      job, layer.has_pooling3d_param() ? depth_windows(layer.pooling3d_param()) : depth_windows(layer.pooling_param()));
}

}  // namespace

void add_poolings(Compositions& table) {
  table.insert({{"Pooling", compose_pooling}, {"PoolingND", compose_pooling_nd}, {"Pooling3D", compose_pooling3d}});
}

}  // namespace cortado::dialect
