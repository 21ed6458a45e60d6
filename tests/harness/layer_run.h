#pragma once

// One layer, made through the registry and run by itself, as a plan would run it but with every operand in guarded
// memory of its own. What the contract of layers/layer.h forbids is a test failure: writing outside an operand,
// changing x, w or dy, reading in backward what was not asked for (it is NaN by then), padding lanes that are not zero.
// On the simulated device, looking at an operand from the host ends the test at once.

#include <memory>
#include <string>
#include <vector>

#include "core/context.h"
#include "layers/layer.h"
#include "tests/harness/array.h"
#include "tests/harness/storage.h"

namespace cortado::harness {

/// A layer as text, e.g. "type: 'ReLU' relu_param { negative_slope: 0.1 }", and perhaps the followers it takes over,
/// one a line. Where an Eltwise is among them, the last x is its other operand. Throws what making and inferring throw.
struct MadeLayer {
  MadeLayer(const std::string& text, const std::string& follower, const std::vector<Shape>& x,
            caffe::Phase phase = caffe::TRAIN);
  MadeLayer(const MadeLayer&) = delete;  // the layer refers to `config`
  MadeLayer& operator=(const MadeLayer&) = delete;

  caffe::LayerParameter config;
  std::vector<caffe::LayerParameter> followers;
  std::unique_ptr<Layer> layer;
  LayerShapes shapes;     ///< the follower's weights included
  kernels::PostOps post;  ///< what the layer has taken over
  bool absorbed = false;  ///< whether all followers were taken over

 private:
  bool takes_over(const caffe::LayerParameter& follower, const std::vector<Shape>& x, caffe::Phase phase);
};

struct RunOptions {
  Layout layout = Layout::kPlain;  ///< of all operands with four axes
  bool plain_x = false;            ///< x[0] is plain whatever `layout` says
  DType dtype = DType::kF32;       ///< of the values that the layer's TypeRule lets have it
  Device device = {};
  int threads = 1;
  caffe::Phase phase = caffe::TRAIN;
  bool backward = true;
  bool in_place = false;            ///< y over x and dx over dy, where the layer allows it
  bool keeps_y = false;             ///< as if another layer's backward read y
  std::vector<bool> wants_dx = {};  ///< empty: whatever is differentiable
  std::vector<bool> has_dy = {};    ///< empty: all
  bool add_dw = false;              ///< dw starts with kOldGradient and is added to
  bool accumulate = false;          ///< the same through Operands::accumulate
  uint64_t seed = 1, pass = 0, layer_seed = 7;
};

constexpr double kOldGradient = 0.5;

/// The simulated device and, where CORTADO_TEST_GPU is a CUDA device's number, that one.
std::vector<Device> tested_devices();

class LayerRun {
 public:
  /// `w` may hold fewer arrays than the layer has weights, or empty ones: the others are random.
  explicit LayerRun(const std::string& text, const Arrays& x, const RunOptions& options = {}, const Arrays& w = {},
                    const std::string& follower = {});

  void forward();
  void backward(const Arrays& dy);
  void validate() { made_.layer->validate(context_, io_); }

  Layer& layer() { return *made_.layer; }
  const MadeLayer& made() const { return made_; }
  const LayerNeeds& needs() const { return needs_; }
  Context& context() { return context_; }
  const Arrays& y() const { return y_; }  ///< as forward() left it
  Array dx(size_t i) { return load(context_, io_.dx[i]); }
  bool has_dx(size_t i) const { return bool(io_.dx[i]); }
  bool has_dw(size_t i) const { return bool(io_.dw[i]); }
  const Arrays& w() const { return w_; }  ///< as given at first
  Array stored_w(size_t i);               ///< as it is now
  Array dw(size_t i);
  DType x_type(size_t i) const { return request_.x[i].dtype; }
  DType y_type(size_t i) const { return request_.y[i].dtype; }

 private:
  GuardedMemory& memory(int64_t bytes);
  TensorSpec spec_of(const Shape& shape, bool plain, bool typed) const;
  Array plain_weight(size_t i, const Tensor& stored);
  void prepare();
  void bind_forward(const Arrays& x);
  void bind_backward();
  void bind_weights(const Arrays& w);
  bool differentiable(size_t i) const;
  void spoil_what_backward_may_not_read();
  void expect_recompute();
  void check_padding_of_dw();
  void check_guards();

  MadeLayer made_;
  RunOptions options_;
  Context context_;
  PrepareRequest request_;
  LayerNeeds needs_;
  Operands io_;
  Arrays y_, w_;
  std::vector<std::unique_ptr<GuardedMemory>> memories_;
};

/// Bits of a layer's results, for comparison.
bool same_bits(const Array& a, const Array& b);

}  // namespace cortado::harness
