#include "tests/net/reference_net.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace cortado {

using harness::Array;
using harness::Arrays;

namespace {

Array elementwise(const Array& x, const std::function<double(double)>& function) { return harness::map(x, function); }

int64_t rest(const Array& x) { return x.shape.count(2); }

/// function(value, channel) for each element.
Array per_channel(const Array& x, const std::function<double(double, size_t)>& function) {
  Array y(x.shape);
  const auto channels = size_t(x.shape[1]), area = size_t(rest(x));
  for (size_t i = 0; i < x.size(); ++i) y[i] = function(x[i], i / area % channels);
  return y;
}

Array inner_product(const caffe::InnerProductParameter& options, const Array& x, const Arrays& w) {
  const int64_t rows = x.shape[0], inner = x.shape.count(1), outer = options.num_output();
  Array y(Shape{rows, outer});
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t o = 0; o < outer; ++o) {
      double sum = w.size() > 1 ? w[1][size_t(o)] : 0;
      for (int64_t i = 0; i < inner; ++i) sum += x[size_t(r * inner + i)] * w[0][size_t(o * inner + i)];
      y[size_t(r * outer + o)] = sum;
    }
  return y;
}

/// Calls work(position of x, position within the window) for each position of the window at (h, w) that is in x.
void for_window(const Array& x, int64_t h, int64_t w, int64_t kernel, int64_t pad,
                const std::function<void(int64_t, int64_t)>& work) {
  for (int64_t i = 0; i < kernel; ++i)
    for (int64_t j = 0; j < kernel; ++j) {
      const int64_t row = h - pad + i, column = w - pad + j;
      if (row < 0 || row >= x.shape[2] || column < 0 || column >= x.shape[3]) continue;
      work(row * x.shape[3] + column, i * kernel + j);
    }
}

/// Of stride 1 and an odd window, padded so that y has x's height and width.
Array convolution(const caffe::ConvolutionParameter& options, const Array& x, const Arrays& w) {
  const int64_t kernel = options.kernel_size(0), pad = kernel / 2, area = rest(x), channels = x.shape[1];
  Array y(Shape{x.shape[0], options.num_output(), x.shape[2], x.shape[3]});
  for (int64_t n = 0; n < y.shape[0]; ++n)
    for (int64_t h = 0; h < y.shape[2]; ++h)
      for (int64_t v = 0; v < y.shape[3]; ++v)
        for_window(x, h, v, kernel, pad, [&](int64_t at, int64_t in_window) {
          for (int64_t o = 0; o < y.shape[1]; ++o) {
            double sum = 0;
            for (int64_t c = 0; c < channels; ++c)
              sum += x[size_t((n * channels + c) * area + at)] *
                     w[0][size_t((o * channels + c) * kernel * kernel + in_window)];
            y[size_t((n * y.shape[1] + o) * area + h * y.shape[3] + v)] += sum;
          }
        });
  return w.size() > 1 ? per_channel(y, [&](double sum, size_t c) { return sum + w[1][c]; }) : y;
}

/// Global and average, or 3x3 at stride 1, padded by 1.
Array pooling(const caffe::PoolingParameter& options, const Array& x) {
  const bool global = options.global_pooling(), largest = options.pool() == caffe::PoolingParameter::MAX;
  const int64_t area = rest(x), planes = x.shape.count(0, 2), width = x.shape[3];
  Array y(global ? Shape{x.shape[0], x.shape[1], 1, 1} : x.shape);
  for (int64_t p = 0; p < planes; ++p) {
    const double* plane = &x.values[size_t(p * area)];
    for (int64_t i = 0; i < (global ? 1 : area); ++i) {
      double sum = 0, most = -INFINITY;
      const auto take = [&](int64_t at, int64_t = 0) {
        sum += plane[at];
        most = std::max(most, plane[at]);
      };
      for (int64_t at = 0; global && at < area; ++at) take(at);
      if (!global) for_window(x, i / width, i % width, 3, 1, take);
      y[size_t(global ? p : p * area + i)] = largest ? most : sum / double(global ? area : 9);
    }
  }
  return y;
}

Array batch_norm(const caffe::BatchNormParameter& options, const Array& x, const Arrays& w, caffe::Phase phase) {
  const auto channels = size_t(x.shape[1]);
  std::vector<double> sum(channels), squares(channels);
  per_channel(x, [&](double v, size_t c) { return sum[c] += v; });
  const double count = double(x.size()) / double(channels);
  const auto mean = [&](size_t c) { return phase == caffe::TRAIN ? sum[c] / count : w[0][c] / w[2][0]; };
  per_channel(x, [&](double v, size_t c) { return squares[c] += (v - mean(c)) * (v - mean(c)); });
  const auto variance = [&](size_t c) { return phase == caffe::TRAIN ? squares[c] / count : w[1][c] / w[2][0]; };
  return per_channel(x, [&](double v, size_t c) { return (v - mean(c)) / std::sqrt(variance(c) + options.eps()); });
}

Array eltwise(const caffe::EltwiseParameter& options, const Arrays& x) {
  Array y(x[0].shape);
  for (size_t i = 0; i < y.size(); ++i)
    for (size_t k = 0; k < x.size(); ++k) {
      const double v = x[k][i], before = y[i];
      switch (options.operation()) {
        case caffe::EltwiseParameter::PROD:
          y[i] = k == 0 ? v : before * v;
          break;
        case caffe::EltwiseParameter::MAX:
          y[i] = k == 0 ? v : std::max(before, v);
          break;
        default:
          y[i] = before + v * (options.coeff_size() > 0 ? double(options.coeff(int(k))) : 1);
      }
    }
  return y;
}

/// Of axis 1.
Array concat(const Arrays& x) {
  Shape shape = x[0].shape;
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  for (size_t k = 1; k < x.size(); ++k) dims[1] += x[k].shape[1];
  Array y((Shape(dims)));
  size_t at = 0;
  for (int64_t n = 0; n < dims[0]; ++n)
    for (const Array& one : x) {
      const auto row = size_t(one.shape.count(1));
      std::copy_n(one.values.begin() + long(size_t(n) * row), row, y.values.begin() + long(at));
      at += row;
    }
  return y;
}

/// Into equal parts of axis 1.
Arrays slice(const Array& x, size_t parts) {
  std::vector<int64_t> dims(x.shape.dims().begin(), x.shape.dims().end());
  dims[1] /= int64_t(parts);
  Arrays y(parts, Array(Shape(dims)));
  const auto row = size_t(y[0].shape.count(1));
  for (size_t i = 0; i < x.size(); ++i) y[i / row % parts][i / (row * parts) * row + i % row] = x[i];
  return y;
}

/// The mean over rows of -log of the label's probability.
double softmax_loss(const Array& x, const Array& label) {
  const int64_t rows = x.shape[0], classes = x.shape.count(1);
  double loss = 0;
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (int64_t c = 0; c < classes; ++c) sum += std::exp(x[size_t(r * classes + c)]);
    loss += std::log(sum) - x[size_t(r * classes) + size_t(label[size_t(r)])];
  }
  return loss / double(rows);
}

double euclidean_loss(const Array& a, const Array& b) {
  double loss = 0;
  for (size_t i = 0; i < a.size(); ++i) loss += (a[i] - b[i]) * (a[i] - b[i]) / 2;
  return loss / double(a.shape[0]);
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

Arrays computed(const caffe::LayerParameter& layer, const Arrays& x, const Arrays& w, caffe::Phase phase) {
  const std::string& type = layer.type();
  if (type == "InnerProduct") return {inner_product(layer.inner_product_param(), x[0], w)};
  if (type == "Convolution") return {convolution(layer.convolution_param(), x[0], w)};
  if (type == "Pooling") return {pooling(layer.pooling_param(), x[0])};
  if (type == "BatchNorm") return {batch_norm(layer.batch_norm_param(), x[0], w, phase)};
  if (type == "Eltwise") return {eltwise(layer.eltwise_param(), x)};
  if (type == "Concat") return {concat(x)};
  if (type == "Slice") return slice(x[0], size_t(layer.top_size()));
  if (type == "Scale")
    return {per_channel(x[0], [&](double v, size_t c) { return v * w[0][c] + (w.size() > 1 ? w[1][c] : 0); })};
  if (type == "PReLU") return {per_channel(x[0], [&](double v, size_t c) { return v > 0 ? v : v * w[0][c]; })};
  if (type == "Bias") {  // of the shape of x
    Array y = x[0];
    for (size_t i = 0; i < y.size(); ++i) y[i] += w[0][i];
    return {y};
  }
  if (type == "Power") {
    const caffe::PowerParameter& power = layer.power_param();
    return {elementwise(x[0], [&](double v) {
      return std::pow(double(power.shift()) + double(power.scale()) * v, double(power.power()));
    })};
  }
  if (type == "ReLU") {
    const double slope = layer.relu_param().negative_slope();
    return {elementwise(x[0], [&](double v) { return v > 0 ? v : v * slope; })};
  }
  if (type == "ELU") return {elementwise(x[0], [](double v) { return v > 0 ? v : std::expm1(v); })};
  if (type == "TanH") return {elementwise(x[0], [](double v) { return std::tanh(v); })};
  if (type == "Sigmoid") return {elementwise(x[0], sigmoid)};
  if (type == "Reduction") {
    double sum = 0;
    for (const double v : x[0].values) sum += v;
    return {Array(Shape{}, {sum * double(layer.reduction_param().coeff())})};
  }
  if (type == "Softmax") return {harness::softmax(x[0], 1)};
  if (type == "SoftmaxWithLoss") return {Array(Shape{}, {softmax_loss(x[0], x[1])})};
  if (type == "EuclideanLoss") return {Array(Shape{}, {euclidean_loss(x[0], x[1])})};
  throw_internal("no reference for " + type);
}

bool is_loss(const std::string& type) { return type.ends_with("Loss"); }

bool is_label(const caffe::LayerParameter& layer, size_t i) { return layer.type() == "SoftmaxWithLoss" && i == 1; }

std::optional<bool> propagate_down(const caffe::LayerParameter& layer, size_t i) {
  if (int(i) >= layer.propagate_down_size()) return std::nullopt;
  return layer.propagate_down(int(i));
}

bool flows(const caffe::LayerParameter& layer, size_t i) {
  return !is_label(layer, i) && propagate_down(layer, i).value_or(true);
}

}  // namespace

double dot(const Array& a, const Array& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

ReferenceNet::ReferenceNet(const caffe::NetParameter& message, const Net& shaped, caffe::Phase phase) : phase_(phase) {
  for (const caffe::LayerParameter& config : message.layer()) add_layer(config, shaped);
  mark_learning(message.force_backward());
  mark_reached(message.force_backward());
}

void ReferenceNet::add_layer(const caffe::LayerParameter& config, const Net& shaped) {
  Layer layer{config, {}, {}, {}};
  for (const std::string& bottom : config.bottom()) layer.x.push_back(last(bottom));
  for (int i = 0; i < config.top_size(); ++i) {
    layer.y.push_back(values_.size());
    const double usual = is_loss(config.type()) && i == 0 ? 1 : 0;
    values_.push_back(
        {config.top(i), layers_.size(), i < config.loss_weight_size() ? double(config.loss_weight(i)) : usual, false});
  }
  add_weights(layer, shaped);
  layers_.push_back(std::move(layer));
}

/// Of weights with one name, each factor is that of the only layer that sets it.
void ReferenceNet::add_weights(Layer& layer, const Net& shaped) {
  const graph::Graph& graph = shaped.plan().graph;
  const auto& ids = graph.source(graph.source_named(layer.config.name())).weights;
  for (size_t k = 0; k < ids.size(); ++k) {
    const caffe::ParamSpec spec = int(k) < layer.config.param_size() ? layer.config.param(int(k)) : caffe::ParamSpec();
    size_t id = weights_.size();
    for (const Layer& other : layers_)
      for (int i = 0; i < other.config.param_size() && spec.has_name(); ++i)
        if (other.config.param(i).name() == spec.name()) id = other.w[size_t(i)];
    if (id == weights_.size()) {
      const WeightSpec& of = graph.weight(ids[k]).spec;
      weights_.push_back({{}, layer.config.type() != "BatchNorm", 1, 1, Array(of.shape)});
    }
    Weight& weight = weights_[id];
    weight.users.emplace_back(layer.config.name(), int(k));
    if (spec.has_lr_mult()) weight.lr_mult = spec.lr_mult();
    if (spec.has_decay_mult()) weight.decay_mult = spec.decay_mult();
    layer.w.push_back(id);
  }
}

void ReferenceNet::mark_learning(bool all) {
  for (Value& value : values_) value.learns = all;
  for (const Layer& layer : layers_)
    for (size_t i = 0; i < layer.x.size(); ++i)
      if (flows(layer.config, i) && propagate_down(layer.config, i)) values_[layer.x[i]].learns = true;
  for (const Layer& layer : layers_) {
    bool any = false;
    for (const size_t w : layer.w) any = any || weights_[w].learns();
    for (size_t i = 0; i < layer.x.size(); ++i) any = any || (values_[layer.x[i]].learns && flows(layer.config, i));
    for (const size_t y : layer.y) values_[y].learns = values_[y].learns || any;
  }
}

/// `all`: the gradient of any blob may be set, so every layer sends gradients.
void ReferenceNet::mark_reached(bool all) {
  for (size_t v = 0; v < values_.size(); ++v)
    values_[v].reached = values_[v].loss_weight != 0 || (all && last(values_[v].blob) == v);
  for (size_t n = layers_.size(); n-- > 0;) {
    const Layer& layer = layers_[n];
    const bool any = all || std::ranges::any_of(layer.y, [&](size_t y) { return values_[y].reached; });
    for (size_t i = 0; i < layer.x.size(); ++i)
      if (any && flows(layer.config, i)) values_[layer.x[i]].reached = true;
  }
}

size_t ReferenceNet::last(const std::string& blob) const {
  for (size_t v = values_.size(); v-- > 0;)
    if (values_[v].blob == blob) return v;
  throw_internal("no blob " + blob);
}

/// `stops`: operands through which no gradient flows keep their values of run().
void ReferenceNet::compute(size_t first, Arrays& arrays, bool stops) const {
  for (size_t n = first; n < layers_.size(); ++n) {
    const Layer& layer = layers_[n];
    if (layer.config.type() == "Input") continue;
    Arrays x, w;
    for (size_t i = 0; i < layer.x.size(); ++i)
      x.push_back(stops && !flows(layer.config, i) ? base_[layer.x[i]] : arrays[layer.x[i]]);
    for (const size_t id : layer.w) w.push_back(weights_[id].values);
    Arrays y = computed(layer.config, x, w, phase_);
    for (size_t i = 0; i < y.size(); ++i) arrays[layer.y[i]] = std::move(y[i]);
  }
}

void ReferenceNet::run(const Arrays& inputs) {
  base_.assign(values_.size(), {});
  size_t next = 0;
  for (const Layer& layer : layers_)
    if (layer.config.type() == "Input")
      for (const size_t y : layer.y) base_[y] = inputs[next++];
  Arrays arrays = base_;
  compute(0, arrays, /*stops=*/false);
  base_ = std::move(arrays);
}

double ReferenceNet::loss_of(const Arrays& arrays) const {
  double loss = 0;
  for (size_t v = 0; v < values_.size(); ++v)
    for (const double element : arrays[v].values) loss += values_[v].loss_weight * element;
  return loss;
}

/// A kink is where the differences to the two sides are not the same.
std::optional<double> ReferenceNet::slope(const std::function<double(double step)>& loss_at) const {
  constexpr double kStep = 1e-5, kSame = 1e-3;
  const double here = loss_at(0), above = loss_at(kStep), below = loss_at(-kStep);
  const double up = (above - here) / kStep, down = (here - below) / kStep;
  if (std::abs(up - down) > kSame * std::max(1.0, std::abs(up))) return std::nullopt;
  return (above - below) / (2 * kStep);
}

std::optional<double> ReferenceNet::slope_of_value(size_t value, const Array& direction) const {
  return slope([&](double step) {
    Arrays arrays = base_;
    for (size_t i = 0; i < direction.size(); ++i) arrays[value][i] += step * direction[i];
    // The layer's other tops, and everything before it, stay.
    compute(values_[value].layer + 1, arrays, /*stops=*/true);
    return loss_of(arrays);
  });
}

std::optional<double> ReferenceNet::slope_of_weight(size_t weight, const Array& direction) {
  Array& values = weights_[weight].values;
  const Array before = values;
  const auto result = slope([&](double step) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = before[i] + step * direction[i];
    Arrays arrays = base_;
    compute(0, arrays, /*stops=*/true);
    return loss_of(arrays);
  });
  values = before;
  return result;
}

}  // namespace cortado
