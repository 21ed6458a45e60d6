#include "tests/harness/layer_run.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <set>
#include <sstream>
#include <stdexcept>

#include "core/threads/threads.h"
#include "layers/common/losses/class_labels.h"
#include "layers/registry.h"
#include "layers/roles.h"

namespace cortado::harness {

namespace {

caffe::LayerParameter parse(const std::string& text) {
  caffe::LayerParameter message;
  if (!google::protobuf::TextFormat::ParseFromString(text, &message))
    throw std::invalid_argument("cannot parse the test's layer: " + text);
  return message;
}

std::unique_ptr<Layer> make(const caffe::LayerParameter& config, caffe::Phase phase) {
  const LayerType* type = find_layer_type(config.type());
  if (!type) throw std::invalid_argument("layer type '" + config.type() + "' is unknown");
  return type->make(LayerOptions{.config = config, .phase = phase});
}

bool all_typed(TypeRule rule) { return rule == TypeRule::kFollow || rule == TypeRule::kHalf; }

void fill_up(std::vector<bool>& list, size_t n, bool value) {
  if (list.empty()) list.assign(n, value);
}

/// Expects that roles() has every role that the class implements.
template <typename Role>
void expect_named(Layer& layer, const Role* named, const char* role) {
  EXPECT_EQ(dynamic_cast<const Role*>(&layer), named) << "roles() and the class differ: " << role;
}
void check_roles(Layer& layer) {
  const LayerRoles roles = layer.roles();
  expect_named(layer, roles.cursor, "data cursor");
  expect_named(layer, roles.records, "records");
  expect_named(layer, roles.memory, "state between batches");
  expect_named(layer, roles.rows, "varying rows");
  expect_named(layer, roles.scoring, "scores");
  expect_named(layer, roles.classes, "labels");
}

}  // namespace

std::vector<Device> tested_devices() {
  std::vector<Device> list = {{DeviceKind::kSimulated, 0}};
  if (const char* gpu = std::getenv("CORTADO_TEST_GPU")) list.push_back({DeviceKind::kCuda, std::atoi(gpu)});
  return list;
}

MadeLayer::MadeLayer(const std::string& text, const std::string& follower, const std::vector<Shape>& x,
                     caffe::Phase phase)
    : config(parse(text)) {
  std::istringstream lines(follower);
  for (std::string line; std::getline(lines, line);) followers.push_back(parse(line));
  const auto adds = [](const caffe::LayerParameter& next) { return next.type() == "Eltwise"; };
  const std::vector<Shape> own(x.begin(), x.end() - std::count_if(followers.begin(), followers.end(), adds));
  for (size_t i = size_t(config.bottom_size()); i < own.size(); ++i) config.add_bottom("x" + std::to_string(i));
  const LayerType* type = find_layer_type(config.type());
  for (int i = config.top_size(); type && i < type->min_tops; ++i) config.add_top("y" + std::to_string(i));
  layer = make(config, phase);
  check_roles(*layer);
  shapes = layer->infer(own);
  absorbed = std::all_of(followers.begin(), followers.end(),
                         [&](const caffe::LayerParameter& next) { return takes_over(next, x, phase); });
}

bool MadeLayer::takes_over(const caffe::LayerParameter& follower, const std::vector<Shape>& x, caffe::Phase phase) {
  const std::unique_ptr<Layer> next = make(follower, phase);
  const bool sum = follower.type() == "Eltwise";
  const LayerShapes after = next->infer(sum ? std::vector{shapes.y[0], x.back()} : std::vector{shapes.y[0]});
  const std::optional<kernels::PostOp> op = next->as_post_op();
  const auto longer = op ? post.followed_by(*op) : std::nullopt;
  if (!longer || longer->sum != (sum || post.sum) || !layer->accepts(*longer, NetMode::kTraining)) return false;
  post = *longer;
  shapes.y[0] = after.y[0];
  shapes.w.insert(shapes.w.end(), after.w.begin(), after.w.end());
  return true;
}

LayerRun::LayerRun(const std::string& text, const Arrays& x, const RunOptions& options, const Arrays& w,
                   const std::string& follower)
    : made_(text, follower, shapes_of(x), options.phase),
      options_(options),
      context_({.threads = options.threads, .seed = options.seed, .device = options.device}) {
  context_.pass = options.pass;
  if (!context_.shares_host_memory()) {
    context_.device_pass = reinterpret_cast<uint64_t*>(memory(sizeof(uint64_t)).data());
    put_on_device(context_, context_.device_pass, options.pass);
  }
  const TypeRule rule = made_.layer->storage({}).type;
  for (size_t i = 0; i < x.size(); ++i)
    request_.x.push_back(
        spec_of(x[i].shape, i == 0 && options.plain_x, all_typed(rule) || (rule == TypeRule::kReads && i == 0)));
  prepare();
  bind_forward(x);
  bind_weights(w);
  if (options_.backward) bind_backward();
  for (const int64_t bytes : needs_.saved) io_.saved.push_back(bytes > 0 ? memory(bytes).data() : nullptr);
}

GuardedMemory& LayerRun::memory(int64_t bytes) {
  return *memories_.emplace_back(std::make_unique<GuardedMemory>(context_, bytes));
}

TensorSpec LayerRun::spec_of(const Shape& shape, bool plain, bool typed) const {
  return {shape, typed ? options_.dtype : DType::kF32, shape.axes() == 4 && !plain ? options_.layout : Layout::kPlain};
}

bool LayerRun::differentiable(size_t i) const { return made_.layer->differentiable(int(i)); }

void LayerRun::prepare() {
  const TypeRule rule = made_.layer->storage({}).type;
  for (const Shape& shape : made_.shapes.y)
    request_.y.push_back(spec_of(shape, false, all_typed(rule) || (rule == TypeRule::kMakes && request_.y.empty())));
  for (const WeightSpec& w : made_.shapes.w) request_.w.push_back({w.shape, DType::kF32, Layout::kPlain});
  request_.post = made_.post;
  request_.backward = options_.backward;
  request_.wants_dx = options_.wants_dx;
  fill_up(request_.wants_dx, request_.x.size(), true);
  for (size_t i = 0; i < request_.x.size(); ++i)
    request_.wants_dx[i] = request_.wants_dx[i] && options_.backward && differentiable(i);
  request_.adds_dw = true;
  for (const WeightSpec& w : made_.shapes.w) request_.wants_dw.push_back(options_.backward && w.learned);
  fill_up(options_.has_dy, request_.y.size(), options_.backward);
  request_.layer_seed = options_.layer_seed;
  needs_ = made_.layer->prepare(request_, context_);
  if (needs_.last_saved_for_y && options_.keeps_y) {
    needs_.saved.back() = 0;
    needs_.backward_reads_y = {true};
  }
  fill_up(needs_.backward_reads_x, request_.x.size(), false);
  fill_up(needs_.backward_reads_y, request_.y.size(), false);
  if (needs_.w_formats.empty())
    for (const TensorSpec& w : request_.w) needs_.w_formats.emplace_back(w.shape);
}

void LayerRun::bind_forward(const Arrays& x) {
  for (size_t i = 0; i < x.size(); ++i) {
    const bool shares = i > 0 && options_.one_x;
    io_.x.push_back({request_.x[i], context_.device, shares ? io_.x[0].data : memory(request_.x[i].bytes()).data()});
    if (!shares) store(context_, x[i], io_.x[i]);
  }
  for (size_t i = 0; i < request_.y.size(); ++i) {
    const bool shares =
        needs_.aliasing.y_is_in_x(i) || (i == 0 && options_.in_place && needs_.aliasing.y_may_overwrite_x);
    if (shares) {
      EXPECT_EQ(request_.y[i].bytes(), request_.x[needs_.aliasing.overwritten_x].bytes())
          << "y does not fit x's memory";
    }
    io_.y.push_back({request_.y[i], context_.device,
                     shares ? io_.x[needs_.aliasing.overwritten_x].data : memory(request_.y[i].bytes()).data()});
  }
}

void LayerRun::bind_weights(const Arrays& w) {
  for (size_t i = 0; i < request_.w.size(); ++i) {
    const Shape& shape = request_.w[i].shape;
    const kernels::WeightFormat& format = needs_.w_formats[i];
    w_.push_back(i < w.size() && w[i].size() > 0 ? w[i] : random(shape, 1000 + i));
    io_.w.push_back({request_.w[i], context_.device, memory(format.bytes()).data()});
    const std::vector<float> plain(w_[i].values.begin(), w_[i].values.end());
    format.from_plain(context_, plain.data(), io_.w[i].data);
    io_.add_dw.push_back(options_.add_dw);
    Tensor dw{request_.w[i], context_.device, nullptr};
    if (request_.wants_dw[i]) {
      dw.data = memory(format.bytes()).data();
      const std::vector<float> old(plain.size(), float(kOldGradient));
      if (options_.add_dw || options_.accumulate) format.from_plain(context_, old.data(), dw.data);
    }
    io_.dw.push_back(dw);
  }
  io_.accumulate = options_.accumulate;
}

void LayerRun::bind_backward() {
  for (size_t i = 0; i < request_.y.size(); ++i)
    io_.dy.push_back(
        {request_.y[i], context_.device, options_.has_dy[i] ? memory(request_.y[i].bytes()).data() : nullptr});
  void* shared = nullptr;
  if (needs_.aliasing.dx_is_dy && !io_.dy.empty()) shared = io_.dy[0].data;
  if (needs_.aliasing.dx_are_one) shared = memory(request_.x[0].bytes()).data();
  const size_t overwriting = options_.in_place ? needs_.aliasing.dx_over_dy(request_.wants_dx) : request_.x.size();
  for (size_t i = 0; i < request_.x.size(); ++i) {
    const bool over_dy = i == overwriting && io_.dy[0] && request_.x[i].bytes() == request_.y[0].bytes();
    Tensor dx{request_.x[i], context_.device, nullptr};
    if (request_.wants_dx[i])
      dx.data = over_dy ? io_.dy[0].data : shared ? shared : memory(request_.x[i].bytes()).data();
    if (over_dy && shared) shared = io_.dy[0].data;
    io_.dx.push_back(dx);
  }
}

void LayerRun::forward() {
  Arrays before;
  for (const Tensor& x : io_.x) before.push_back(load(context_, x));
  for (const Tensor& y : io_.y)
    if (!is_over_x(y) && !needs_.aliasing.y_persists) spoil(context_, y.data, y.spec.bytes());
  io_.scratch = memory(needs_.forward_scratch).data();
  if (context_.shares_host_memory()) validate();  // as a net does
  made_.layer->forward(context_, io_);
  y_.clear();
  const bool is_input = find_layer_type(made_.config.type())->kind == LayerKind::kInput;  // the caller sets y
  for (const Tensor& y : io_.y) {
    y_.push_back(load(context_, y));
    if (!is_input) {
      EXPECT_EQ(count_unwritten(context_, y), 0) << "forward did not write all of y";
    }
    EXPECT_TRUE(padding_is_zero(context_, y)) << "forward left nonzero padding lanes in y";
  }
  const bool over_x = options_.in_place && needs_.aliasing.y_may_overwrite_x;
  for (size_t i = 0; i < io_.x.size(); ++i)
    if (!over_x || io_.x[i].data != io_.y[0].data) {
      EXPECT_TRUE(same_bits(load(context_, io_.x[i]), before[i])) << "forward changed x[" << i << "]";
    }
  check_guards();
}

bool LayerRun::is_over_x(const Tensor& tensor) const {
  return std::any_of(io_.x.begin(), io_.x.end(), [&](const Tensor& x) { return x.data == tensor.data; });
}

void LayerRun::spoil_what_backward_may_not_read() {
  std::set<const void*> readable;
  for (size_t i = 0; i < io_.x.size(); ++i)
    if (needs_.backward_reads_x[i]) readable.insert(io_.x[i].data);
  for (size_t i = 0; i < io_.y.size(); ++i)
    if (needs_.backward_reads_y[i]) readable.insert(io_.y[i].data);
  const auto spoil_unreadable = [&](const Tensor& tensor) {
    if (!readable.count(tensor.data)) spoil(context_, tensor.data, tensor.spec.bytes());
  };
  for (const Tensor& x : io_.x) spoil_unreadable(x);
  for (const Tensor& y : io_.y) spoil_unreadable(y);
}

void LayerRun::backward(const Arrays& dy) {
  const bool over_x = options_.in_place && needs_.aliasing.y_may_overwrite_x;
  EXPECT_FALSE(over_x && needs_.backward_reads_x[needs_.aliasing.overwritten_x])
      << "y may overwrite x, which backward reads";
  if (needs_.can_recompute_y && !is_over_x(io_.y[0])) expect_recompute();
  spoil_what_backward_may_not_read();
  for (size_t i = 0; i < io_.dy.size(); ++i)
    if (io_.dy[i]) store(context_, dy[i], io_.dy[i]);
  io_.scratch = memory(needs_.backward_scratch).data();
  made_.layer->backward(context_, io_);
  for (const Tensor& dx : io_.dx)
    if (dx) {
      EXPECT_EQ(count_unwritten(context_, dx), 0) << "backward did not write all of dx";
      EXPECT_TRUE(padding_is_zero(context_, dx)) << "backward left nonzero padding lanes in dx";
    }
  for (size_t i = 0; i < io_.dy.size(); ++i) {
    bool spoilt = !io_.dy[i] || (i == 0 && needs_.aliasing.overwrites_dy);
    for (const Tensor& dx : io_.dx) spoilt = spoilt || dx.data == io_.dy[i].data;
    if (!spoilt) {
      EXPECT_TRUE(same_bits(load(context_, io_.dy[i]), rounded(dy[i], io_.dy[i].spec.dtype)))
          << "backward changed dy[" << i << "]";
    }
  }
  check_padding_of_dw();
  check_guards();
}

void LayerRun::expect_recompute() {
  const Array y = load(context_, io_.y[0]);
  Arrays w;
  for (size_t i = 0; i < io_.w.size(); ++i) w.push_back(stored_w(i));
  spoil(context_, io_.y[0].data, io_.y[0].spec.bytes());
  io_.scratch = memory(needs_.recompute_scratch).data();
  made_.layer->recompute(context_, io_);
  EXPECT_TRUE(same_bits(load(context_, io_.y[0]), y)) << "recompute computed another y";
  EXPECT_TRUE(padding_is_zero(context_, io_.y[0])) << "recompute left nonzero padding lanes in y";
  for (size_t i = 0; i < w.size(); ++i) EXPECT_TRUE(same_bits(stored_w(i), w[i])) << "recompute changed w[" << i << "]";
}

/// Checks that the padding of stored dw is zero: dw equals its plain values, converted to the storage format again.
void LayerRun::check_padding_of_dw() {
  for (size_t i = 0; i < io_.dw.size(); ++i) {
    if (!io_.dw[i]) continue;
    const kernels::WeightFormat& format = needs_.w_formats[i];
    std::vector<float> plain(w_[i].size());
    const GuardedMemory& stored = memory(format.bytes());
    format.to_plain(context_, io_.dw[i].data, plain.data());
    format.from_plain(context_, plain.data(), stored.data());
    const TensorSpec floats{Shape{format.bytes() / int64_t(sizeof(float))}, DType::kF32, Layout::kPlain};
    EXPECT_EQ(load(context_, {floats, context_.device, stored.data()}).values,
              load(context_, {floats, context_.device, io_.dw[i].data}).values)
        << "padding of dw[" << i << "] is not zero";
  }
}

void LayerRun::check_guards() {
  for (const auto& memory : memories_) EXPECT_TRUE(memory->guards_intact(context_)) << "a write outside an operand";
}

Array LayerRun::plain_weight(size_t i, const Tensor& stored) {
  std::vector<float> plain(w_[i].size());
  needs_.w_formats[i].to_plain(context_, stored.data, plain.data());
  return {w_[i].shape, {plain.begin(), plain.end()}};
}

Array LayerRun::stored_w(size_t i) { return plain_weight(i, io_.w[i]); }

Array LayerRun::dw(size_t i) { return plain_weight(i, io_.dw[i]); }

bool same_bits(const Array& a, const Array& b) {
  const auto same = [](double v, double w) { return std::bit_cast<uint64_t>(v) == std::bit_cast<uint64_t>(w); };
  return a.shape == b.shape && std::equal(a.values.begin(), a.values.end(), b.values.begin(), same);
}

}  // namespace cortado::harness
