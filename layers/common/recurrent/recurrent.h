#pragma once

// The base of LSTM and RNN: N sequences of T steps, in parallel. The first bottom is T x N x ..., the second `cont`, T
// x N: 0 at the start of a sequence, which drops the earlier state, else 1. A third may be a static input, N x ..., the
// same for all steps. With
//     a[t] = W_x x[t] + b + W_s s + W_h (cont[t] h[t-1])
// a unit computes h[t] from a[t] (and, with cells, from c[t-1]). All of W_x x is one product before the recurrence, and
// the gradient of each weight one product after it. Each step is one product with W_h and one pass over the units.
//
// The state carries over from one forward pass to the next (only cont = 0 drops it), unless expose_hidden makes it
// bottoms, h (and c) as 1 x N x num_output, and tops. The gradient does not flow into an earlier pass. It does flow
// through exposed state, unlike in Caffe. debug_info, which prints Caffe's unrolled net, has no effect. The first pass
// starts with zeros.
//
// A derived layer may store its weights in another order, and interpret the shapes of x and cont (Lstm). Without a cont
// the sequences restart in every pass.

#include <memory>
#include <optional>
#include <string>

#include "core/device/device_memory.h"
#include "kernels/inner_product.h"
#include "layers/layer.h"
#include "layers/roles.h"

namespace cortado {

/// One step forward, for each of N x H elements. Only c and c_next may be null, for units without cells: loops without
/// branches are vectorized.
struct RecurrentStep {
  float* a;                ///< N x gates x H: in: W_x x + b + W_s s; out: what backward needs of the unit
  const float* from_h;     ///< N x gates x H: the product with W_h
  const float* cont;       ///< N
  float* h;                ///< out; for RNN the same memory as a
  const float* c;          ///< of the previous step
  float* c_next;           ///< out
  const float* cont_next;  ///< N, of the next step; any value in the last step
  float* h_next;           ///< out: cont_next h
};

/// One step backward.
struct RecurrentStepBack {
  const float *a, *cont, *c, *c_next;  ///< as above
  const float* dh;                     ///< the gradient of h from the top
  const float *dh_next, *cont_next;    ///< the gradient of h_next
  const float* dc_next;                ///< of c_next
  float* dc;                           ///< out, of c; may be dc_next's memory
  float* da;                           ///< out
};

/// The indices of the weights of a layer without an output projection.
struct RecurrentWeights {
  size_t x = 0, bias = 1, fixed = 2, h = 2;  ///< fixed: of the static input, which moves h up by one
};

class RecurrentLayer : public Layer, public BatchMemory {
 public:
  LayerShapes infer(const std::vector<Shape>& x) override;
  LayerRoles roles() override { return {.memory = this}; }
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override;
  void forward(Context& context, const Operands& io) override;
  void backward(Context& context, const Operands& io) override;
  bool differentiable(int i) const override { return i != 1; }
  bool is_stateful() const override { return !options_.expose_hidden(); }
  std::span<float> carried() override;
  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>& y) const override;

 protected:
  /// `gates`: the width of a in units of num_output. Throws FieldError.
  RecurrentLayer(const LayerOptions& options, int gates, bool cells)
      : RecurrentLayer(options, options.config.recurrent_param(), "recurrent_param", gates, cells) {}
  /// With options from another message, which the layer stores.
  RecurrentLayer(const LayerOptions& options, const caffe::RecurrentParameter& param, const std::string& field,
                 int gates, bool cells);

  virtual void step(Context& context, const RecurrentStep& s) = 0;
  virtual void step_back(Context& context, const RecurrentStepBack& s) = 0;

  /// Where forward writes all h: y[0], or saved()[0] if y[0] is computed from h.
  virtual float* hidden(const Operands& io) const { return io.y[0].f32(); }

  /// Sets T, N and the number of values per step, from the shapes of x and cont. Throws FieldError.
  virtual void measure(const std::vector<Shape>& x);
  virtual Shape output_shape(const std::vector<Shape>&) const { return {steps_, lanes_, units_}; }

  /// A product of `rows` rows with the weight of index `w`, and with a bias if it has an index.
  std::unique_ptr<kernels::InnerProduct> plan_product(int64_t rows, int64_t inputs, int64_t outputs, size_t w,
                                                      std::optional<size_t> bias, const PrepareRequest& request,
                                                      Context& context) const;

  /// For layers that compute y[0] from h: their weights, kernels, y[0], and the gradient of h in `dh`, T x N x H.
  virtual void add_output_weights(LayerShapes&) const {}
  virtual void prepare_output(const PrepareRequest&, Context&, LayerNeeds&) {}
  virtual void forward_output(Context&, const Operands&) {}
  virtual bool has_output() const { return false; }
  virtual void backward_output(Context&, const Operands&, float* dh) { (void)dh; }

  void add_weight(LayerShapes& shapes, const Shape& shape, bool bias) const;

  const caffe::RecurrentParameter options_;
  const std::string field_;                             ///< the name of the options message
  int64_t steps_ = 0, lanes_ = 0, units_, inputs_ = 0;  ///< T, N, H, and values of x per step and lane
  RecurrentWeights weights_;
  size_t first_output_weight_ = 0;

 private:
  struct Backward {
    float *da, *dh, *dh_next, *dc, *da_sum;
    float *none, *ones;  ///< a gradient of zeros, N x H, and N ones
    float* turned;       ///< W_h in the format of each step's backward_data
    void* products;
  };

  int64_t gate_width() const { return gates_ * units_; }
  int states() const { return cells_ ? 2 : 1; }
  int64_t state_bytes() const { return lanes_ * units_ * int64_t(sizeof(float)); }
  size_t first_state() const { return static_ ? 3 : 2; }  ///< the bottom that is the exposed h
  /// N values for each of T steps.
  const float* cont(const Operands& io) const;
  void check_counts(size_t bottoms);
  void check_shapes(const std::vector<Shape>& x) const;
  /// The product of each step with W_h, the weight of index `w`.
  std::unique_ptr<kernels::InnerProduct> plan_step_product(const PrepareRequest& request, size_t w,
                                                           Context& context) const;
  void plan_kernels(const PrepareRequest& request, Context& context, LayerNeeds& needs);
  void lay_out(const PrepareRequest& request, LayerNeeds& needs);
  const float* state_in(const Operands& io, int which) const;
  float* state_out(const Operands& io, int which) const;
  void begin(Context& context, const Operands& io);
  void add_static(Context& context, const Operands& io, float* a);
  void backward_steps(Context& context, const Operands& io, const Backward& m);
  void backward_states(Context& context, const Operands& io, const Backward& m);
  void backward_weights(Context& context, const Operands& io, const Backward& m);
  void backward_static(Context& context, const Operands& io, const Backward& m);

  int64_t gates_;
  bool cells_, static_ = false, has_cont_ = true;
  size_t tops_;
  int64_t static_inputs_ = 0;  ///< values of s per lane
  std::unique_ptr<kernels::InnerProduct> x_product_, s_product_, h_product_, h_gradient_;
  DeviceMemory state_;                                      ///< h and c between passes; zeros without a cont
  DeviceMemory cont_;                                       ///< used if cont is not a bottom
  int64_t forward_parts_[3] = {}, backward_parts_[9] = {};  ///< offsets in scratch
};

}  // namespace cortado
