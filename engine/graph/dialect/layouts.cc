// Layers that move values. Caffe has no transposition, but a Slice, Reshapes of the parts and a Concat exchange two
// axes.
#include <algorithm>
#include <numeric>

#include "graph/dialect/job.h"
#include "graph/dialect/slices.h"

namespace cortado::dialect {

namespace {

constexpr int64_t kMaxParts = 256;  ///< of one Slice
constexpr int64_t kMaxZeros = 64;   ///< rows of zeros that extend a filter

Blob concatenated(Job& job, const std::vector<Blob>& parts, int axis) {
  caffe::LayerParameter layer = layer_of("Concat");
  if (axis != 1) layer.mutable_concat_param()->set_axis(axis);
  return job.add(std::move(layer), parts);
}

/// x in parts that begin at 0 and at `points`.
std::vector<Blob> sliced(Job& job, const Blob& x, int axis, const std::vector<int64_t>& points) {
  caffe::LayerParameter layer = layer_of("Slice");
  if (axis != 1) layer.mutable_slice_param()->set_axis(axis);
  for (const int64_t point : points) layer.mutable_slice_param()->add_slice_point(uint32_t(point));
  return job.add_all(std::move(layer), {x}, int(points.size()) + 1);
}

/// x in parts of extent 1.
std::vector<Blob> single(Job& job, const Blob& x, int axis) {
  if (x.shape[axis] == 1) return {x};
  std::vector<int64_t> points(size_t(x.shape[axis] - 1));
  std::iota(points.begin(), points.end(), 1);
  return sliced(job, x, axis, points);
}

/// x, outer x a x b x inner, with a and b exchanged. `batch` is the one of the four extents that holds the batch.
Blob exchanged(Job& job, const Blob& x, int batch) {
  const int64_t outer = x.shape[0], a = x.shape[1], b = x.shape[2], inner = x.shape[3];
  const int open = batch == 1 ? 2 : batch == 2 ? 1 : batch;  // its axis after the exchange
  const auto is_single = [&](int axis) { return x.shape[axis] == 1 && (axis != batch || !job.batch().open); };
  if (is_single(1) || is_single(2)) return job.reshape(x, {outer, b, a, inner}, open);
  const bool by_a = batch == 1 ? false : batch == 2 ? true : a <= b;
  if ((by_a ? a : b) > kMaxParts)
    job.refuse("exchanging axes of " + std::to_string(a) + " and " + std::to_string(b) + " takes more than " +
               std::to_string(kMaxParts) + " slices");
  std::vector<Blob> parts;
  for (const Blob& part : single(job, x, by_a ? 1 : 2))
    parts.push_back(job.reshape(part, by_a ? Shape{outer, b, 1, inner} : Shape{outer, 1, a, inner}, open));
  return concatenated(job, parts, by_a ? 2 : 1);
}

Blob compose_permute(Job& job, const google::protobuf::RepeatedField<uint32_t>& given) {
  std::vector<int> order(given.begin(), given.end());
  for (int axis = 0; axis < job.x().shape.axes(); ++axis)
    if (std::find(order.begin(), order.end(), axis) == order.end()) order.push_back(axis);
  return permuted(job, job.x(), order);
}

Blob compose_permute_layer(Job& job) { return compose_permute(job, job.layer().permute_param().order()); }
Blob compose_transpose(Job& job) { return compose_permute(job, job.layer().transpose_param().dim()); }

/// Reads the channels, as a matrix of `groups` rows, column by column.
Blob shuffled(Job& job, const Blob& x, int64_t groups) {
  const Shape& s = x.shape;
  if (groups < 1 || s[1] % groups != 0) job.refuse("its channels are not divisible by its groups");
  const Blob matrix = job.reshape(x, {s[0], groups, s[1] / groups, s.count(2)});
  return job.reshape(exchanged(job, matrix, 0), s);
}

Blob compose_shuffle(Job& job) { return shuffled(job, job.x(), int64_t(job.layer().shuffle_channel_param().group())); }

Blob compose_interleave(Job& job) {
  return shuffled(job, concatenated(job, job.bottoms(), 1), int64_t(job.bottoms().size()));
}

Blob compose_reverse(Job& job) {
  const Blob& x = job.x();
  const int axis = x.shape.canonical_axis(job.layer().reverse_param().axis());
  const int64_t extent = x.shape[axis];
  if (extent <= kMaxParts) {
    std::vector<Blob> parts = single(job, x, axis);
    if (parts.size() == 1) return x;
    std::reverse(parts.begin(), parts.end());
    return concatenated(job, parts, axis);
  }
  if (axis == 0) job.refuse("its axis of " + std::to_string(extent) + " is too long");
  BlobFile matrix = filled(job, {extent, extent}, 0);
  for (int64_t i = 0; i < extent; ++i) matrix.data[size_t(i * extent + extent - 1 - i)] = 1;
  return along_axis(job, x, axis, matrix);
}

/// Padding by a Convolution with one 1 in each filter, whose place makes one end longer. It crops, too.
Blob compose_padding(Job& job) {
  const int64_t begin = job.layer().padding_param().pad_beg(), end = job.layer().padding_param().pad_end();
  const Blob& x = job.x();
  const int64_t pad = std::max<int64_t>({begin, end, 0}), side = 2 * pad + 1 - begin - end, at = pad - begin;
  if (pad == 0 && (!job.knows_weights() || side > kMaxZeros))
    return cut(job, cut(job, x, 2, -begin, x.shape[2] + end), 3, -begin, x.shape[3] + end);
  if (side > kMaxZeros) job.refuse("the padding of its two ends differs too much");
  std::vector<float> filter(size_t(side * side), 0);
  filter[size_t(at * side + at)] = 1;
  return by_channel(job, "Convolution", x, {.kernel = {side, side}, .pad = {pad, pad}}, filter);
}

/// YOLO v2's order: the memory of x as samples x D x (H s) x (W s).
Blob compose_reorg(Job& job) {
  const caffe::ReorgParameter& param = job.layer().reorg_param();
  if (param.reverse()) job.refuse("reverse is not available");
  const Shape& s = job.x().shape;
  const int64_t stride = param.stride(), d = s[1] / (stride * stride);
  const Blob split = job.reshape(job.x(), {s[0], d, s[2], stride, s[3], stride});
  return job.reshape(permuted(job, split, {0, 3, 5, 1, 2, 4}), job.y());
}

/// Filters that place each channel of a block at its position.
Blob compose_pixel_shuffle(Job& job) {
  const Blob& x = job.x();
  const int64_t factor = job.layer().pixel_shuffle_param().upscale_factor(), channels = job.y()[1];
  if (factor > 64) job.refuse("its factor is too large");
  caffe::LayerParameter layer = layer_of("Deconvolution");
  caffe::ConvolutionParameter& param = *layer.mutable_convolution_param();
  param.set_num_output(uint32_t(channels));
  param.set_bias_term(false);
  param.set_group(uint32_t(channels));
  set_window(param, {.kernel = {factor, factor}, .stride = {factor, factor}});
  const int64_t block = factor * factor;
  BlobFile filters = filled(job, {x.shape[1], 1, factor, factor}, 0);
  for (int64_t c = 0; c < x.shape[1]; ++c) filters.data[size_t(c * block + c % block)] = 1;
  return job.add(std::move(layer), {x}, {std::move(filters)});
}

}  // namespace

Blob cut(Job& job, const Blob& x, int axis, int64_t from, int64_t to) {
  if (from == 0 && to == x.shape[axis]) return x;
  std::vector<int64_t> points;
  if (from > 0) points.push_back(from);
  if (to < x.shape[axis]) points.push_back(to);
  std::vector<Blob> parts = sliced(job, x, axis, points);
  const auto kept = parts.begin() + (from > 0 ? 1 : 0);
  const Blob y = *kept;
  parts.erase(kept);
  job.add_all(layer_of("Silence"), parts, 0);
  return y;
}

Blob cropped(Job& job, const Blob& x, int64_t h, int64_t w) {
  const int64_t more_h = x.shape[2] - h, more_w = x.shape[3] - w;
  if (more_h == 0 && more_w == 0) return x;
  if (!job.knows_weights() || std::max(more_h, more_w) > kMaxZeros) return cut(job, cut(job, x, 2, 0, h), 3, 0, w);
  std::vector<float> filter(size_t((more_h + 1) * (more_w + 1)), 0);
  filter[0] = 1;
  return by_channel(job, "Convolution", x, {.kernel = {more_h + 1, more_w + 1}}, filter);
}

/// Moves runs of axes to their place, from the first axis on: each time two neighbouring groups are exchanged.
Blob permuted(Job& job, const Blob& x, const std::vector<int>& order) {
  std::vector<int> now(order.size());
  std::iota(now.begin(), now.end(), 0);
  const int batch_axis = job.batch_axis(x);
  Blob y = x;
  for (size_t at = 0; at < order.size(); ++at) {
    const size_t from = size_t(std::find(now.begin(), now.end(), order[at]) - now.begin());
    if (from == at) continue;
    size_t end = from + 1;
    while (end < now.size() && now[end] == order[at + end - from]) ++end;
    const auto extent = [&](size_t first, size_t last) {
      int64_t count = 1;
      for (size_t i = first; i < last; ++i) count *= x.shape[now[i]];
      return count;
    };
    const size_t bounds[] = {0, at, from, end, now.size()};
    const size_t first = size_t(std::find(now.begin(), now.end(), batch_axis) - now.begin());
    const int batch = int(std::upper_bound(std::begin(bounds), std::end(bounds), first) - std::begin(bounds)) - 1;
    const Shape four = {extent(0, at), extent(at, from), extent(from, end), extent(end, now.size())};
    y = exchanged(job, job.reshape(y, four, batch), batch);
    std::rotate(now.begin() + int64_t(at), now.begin() + int64_t(from), now.begin() + int64_t(end));
  }
  Shape shape = x.shape;
  for (size_t i = 0; i < order.size(); ++i) shape[int(i)] = x.shape[order[i]];
  const int batch = int(std::find(order.begin(), order.end(), batch_axis) - order.begin());
  return job.reshape(y, shape, batch);
}

void add_layouts(Compositions& table) {
  table.insert({{"Permute", compose_permute_layer},
                {"Transpose", compose_transpose},
                {"ShuffleChannel", compose_shuffle},
                {"Interleave", compose_interleave},
                {"Reverse", compose_reverse},
                {"Padding", compose_padding},
                {"Reorg", compose_reorg},
                {"PixelShuffle", compose_pixel_shuffle}});
}

}  // namespace cortado::dialect
