#pragma once

// Runs one layer, created by the registry, as a plan would, but with each operand in guarded memory of its own. The
// test fails if the layer writes outside an operand, leaves an element of y or dx unwritten, changes x, w or dy, reads
// in backward an operand that it did not request (it contains NaN), or leaves padding lanes that are not zero. On the
// simulated device, an access to an operand from the host ends the test.

#include <memory>
#include <string>
#include <vector>

#include "core/context.h"
#include "layers/layer.h"
#include "tests/harness/array.h"
#include "tests/harness/storage.h"

namespace cortado::harness {

/// Creates a layer from text, for example "type: 'ReLU' relu_param { negative_slope: 0.1 }", and fuses the layers of
/// `follower`, one a line, into it. If one of them is an Eltwise, the last x is its other operand. Throws the errors of
/// construction and shape inference.
struct MadeLayer {
  MadeLayer(const std::string& text, const std::string& follower, const std::vector<Shape>& x,
            caffe::Phase phase = caffe::TRAIN);
  MadeLayer(const MadeLayer&) = delete;  // the layer refers to `config`
  MadeLayer& operator=(const MadeLayer&) = delete;

  caffe::LayerParameter config;
  std::vector<caffe::LayerParameter> followers;
  std::unique_ptr<Layer> layer;
  LayerShapes shapes;     ///< including the followers' weights
  kernels::PostOps post;  ///< the fused operations
  bool absorbed = false;  ///< whether all followers were fused

 private:
  bool takes_over(const caffe::LayerParameter& follower, const std::vector<Shape>& x, caffe::Phase phase);
};

struct RunOptions {
  Layout layout = Layout::kPlain;  ///< of all operands with four axes
  bool plain_x = false;            ///< x[0] is plain regardless of `layout`
  DType dtype = DType::kF32;       ///< of the operands for which the layer's TypeRule allows it
  Device device = {};
  int threads = 1;
  caffe::Phase phase = caffe::TRAIN;
  bool backward = true;
  bool in_place = false;            ///< y over x and dx over dy, if the layer allows it
  bool one_x = false;               ///< all x are x[0], in one memory
  bool keeps_y = false;             ///< as if another layer's backward read y
  std::vector<bool> wants_dx = {};  ///< empty: all that are differentiable
  std::vector<bool> has_dy = {};    ///< empty: all
  bool add_dw = false;              ///< dw starts with kOldGradient and is accumulated
  bool accumulate = false;          ///< the same through Operands::accumulate
  uint64_t seed = 1, pass = 0, layer_seed = 7;
};

constexpr double kOldGradient = 0.5;

/// The simulated device, and the CUDA device whose number is in CORTADO_TEST_GPU.
std::vector<Device> tested_devices();

class LayerRun {
 public:
  /// Weights for which `w` has no array, or an empty one, are random.
  explicit LayerRun(const std::string& text, const Arrays& x, const RunOptions& options = {}, const Arrays& w = {},
                    const std::string& follower = {});

  void forward();
  void backward(const Arrays& dy);
  void validate() { made_.layer->validate(context_, io_); }

  Layer& layer() { return *made_.layer; }
  const MadeLayer& made() const { return made_; }
  const LayerNeeds& needs() const { return needs_; }
  Context& context() { return context_; }
  const Arrays& y() const { return y_; }  ///< after forward()
  Array dx(size_t i) { return load(context_, io_.dx[i]); }
  bool has_dx(size_t i) const { return bool(io_.dx[i]); }
  bool has_dw(size_t i) const { return bool(io_.dw[i]); }
  const Arrays& w() const { return w_; }  ///< initial values
  Array stored_w(size_t i);               ///< current values
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
  bool is_over_x(const Tensor& tensor) const;
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
