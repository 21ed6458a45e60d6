// InnerProduct: y = x w^T + bias. x is a matrix: the axes from `axis` on are flattened into its columns; the axes
// before are its rows and the first axes of y. w is outputs x inputs, or inputs x outputs with `transpose`.
//
// It fuses a following ReLU. Backward then starts by setting dy to 0 wherever y is 0, in place. In a frozen net it
// folds a following per-channel scale and shift into w and the bias.
//
// With scales in quantization_param it computes on 8-bit integers where the graph requests it: its rows are the
// positions of one image, convolved by 1 x 1 (kernels/quantized_conv.h).

#include "core/error.h"
#include "kernels/inner_product.h"
#include "kernels/quantized_conv.h"
#include "layers/common/loops/relu_mask.h"
#include "layers/common/shape_rules.h"
#include "layers/common/weights/filler.h"
#include "layers/common/weights/linear_weights.h"
#include "layers/common/weights/quantization.h"
#include "layers/registry.h"
#include "layers/types/margin_inner_product.h"

namespace cortado {

namespace {

class InnerProductLayer : public Layer {
 public:
  explicit InnerProductLayer(const LayerOptions& options)
      : options_(options.config.inner_product_param()), quantization_(options.config.quantization_param()) {
    const std::string path = "inner_product_param";
    if (options_.num_output() == 0)
      throw FieldError(options_.has_num_output() ? path + ".num_output" : path,
                       options_.has_num_output() ? "num_output is 0" : "num_output is missing",
                       "set the number of outputs");
    if (options_.relu() && options_.negative_slope() != 0)
      throw FieldError(path + ".negative_slope", "InnerProduct does not support a negative slope",
                       "add a ReLU layer with this negative_slope after it");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    const int axis = axis_of(x[0], options_.axis(), "inner_product_param.axis");
    product_ = {.rows = x[0].count(0, axis),
                .inputs = x[0].count(axis),
                .outputs = options_.num_output(),
                .transpose = options_.transpose(),
                .bias = options_.bias_term()};
    outputs_are_channels_ = axis == 1;
    check_quantization(quantization_, product_.outputs);
    std::vector<int64_t> y(x[0].dims().begin(), x[0].dims().begin() + axis);
    y.push_back(product_.outputs);
    LayerShapes shapes{.y = {Shape(y)}, .w = {}};
    shapes.w = {filled_weight(options_.weight_filler(), product_.weight(), "inner_product_param.weight_filler")};
    if (!product_.bias) return shapes;
    const Shape bias{product_.outputs};
    shapes.w.push_back(filled_weight(options_.bias_filler(), bias, "inner_product_param.bias_filler"));
    return shapes;
  }

  bool accepts(const kernels::PostOps& post, NetMode mode) const override {
    if (options_.relu() || post.sum) return false;
    if (mode == NetMode::kTraining) return post.affine.empty() && post.activation.gates();
    return post.affine.empty() || outputs_are_channels_;
  }

  StorageRule storage(const kernels::PostOps& post) const override {
    return {.type = TypeRule::kHalf, .eight_bits = eight_bits(post)};
  }

  LayerNeeds prepare(const PrepareRequest& request, Context& context) override {
    const bool own_bias = options_.bias_term();
    const bool wants_dw = request.backward && (request.wants_dw[0] || (own_bias && request.wants_dw[1]));
    activation_ = with_own(request.post).activation;
    product_.bias = own_bias || !request.post.affine.empty();
    product_.post = {.activation = activation_};
    if (is_8_bit(request.x[0].dtype)) return prepare_quantized(request, context);
    product_.backward_data = request.backward && request.wants_dx[0];
    product_.backward_weights = wants_dw;
    product_.adds = request.adds_dw || !request.wants_dw[0] || (own_bias && !request.wants_dw[1]);
    product_.dtype = request.x[0].dtype;
    product_.frozen = request.frozen;
    product_.w_format = LinearWeights::fixed_format(request);
    std::string refused;
    kernel_ = kernels::plan_inner_product(product_, context, &refused);
    LayerNeeds needs;
    needs.algorithm = kernel_->name() + (refused.empty() ? "" : " (" + refused.substr(0, refused.size() - 2) + ")");
    weights_.prepare(request, kernel_->weight_format(), own_bias, !product_.transpose, needs);
    needs.forward_scratch = kernel_->forward_scratch();
    needs.backward_scratch = kernel_->backward_scratch();
    needs.backward_reads_x = {wants_dw};
    needs.aliasing.overwrites_dy = request.backward && activation_;
    needs.backward_reads_y = {needs.aliasing.overwrites_dy};
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    const void *x = io.x[0].data, *w = weights_.w(io), *bias = weights_.bias(io);
    if (quantized_) return quantized_->forward(context, {.x = x, .w = w, .bias = bias, .y = io.y[0].data}, io.scratch);
    kernel_->forward(context, x, w, bias, io.y[0].data, io.scratch);
  }

  void backward(Context& context, const Operands& io) override {
    const void* dy = io.dy[0].data;
    if (activation_) mask_by_relu(context, io.y[0], io.dy[0], activation_);
    kernels::WeightGradients d{.w = io.dw[0].f32(), .bias = nullptr, .add_w = io.adds(0)};
    if (product_.bias) {
      d.bias = io.dw[1].f32();
      d.add_bias = io.adds(1);
    }
    if (d.w || d.bias) kernel_->backward_weights(context, io.x[0].data, dy, d, io.scratch);
    if (io.dx[0]) kernel_->backward_data(context, dy, io.w[0].f32(), io.dx[0].data, io.scratch);
  }

  int64_t flops(const std::vector<Shape>&, const std::vector<Shape>& y) const override {
    return checked_mul(y[0].count(),
                       2 * product_.inputs + (product_.bias ? 1 : 0) + (options_.relu() || activation_ ? 1 : 0));
  }

 private:
  EightBitRule eight_bits(const kernels::PostOps& post) const {
    const bool computes = outputs_are_channels_ && !product_.transpose && wants_8_bits(quantization_) &&
                          kernels::suits_quantized_conv(rows_as_places(), with_own(post));
    return computes ? EightBitRule::kComputes : EightBitRule::kNone;
  }
  kernels::PostOps with_own(kernels::PostOps post) const {
    if (options_.relu()) post.activation = kernels::Activation::relu();
    return post;
  }

  kernels::ConvShape rows_as_places() const {
    return {.n = 1, .c = product_.inputs, .k = product_.outputs, .h = {}, .w = {.in = product_.rows}};
  }

  LayerNeeds prepare_quantized(const PrepareRequest& request, Context& context) {
    quantized_ = kernels::plan_quantized_conv({.shape = rows_as_places(),
                                               .x = request.x[0].encoding(),
                                               .y = request.y[0].encoding(),
                                               .z = {},
                                               .w_scales = scales_of_weights(quantization_, product_.outputs),
                                               .bias = product_.bias,
                                               .post = product_.post},
                                              context);
    LayerNeeds needs;
    needs.algorithm = quantized_->name();
    needs.forward_scratch = quantized_->forward_scratch();
    weights_.prepare(request, quantized_->weight_format(), options_.bias_term(), /*channels_first=*/true, needs,
                     quantized_->bias_format());
    return needs;
  }

  const caffe::InnerProductParameter& options_;
  const caffe::QuantizationParameter& quantization_;
  bool outputs_are_channels_ = true;
  kernels::Activation activation_;  ///< its own, or of a fused layer
  LinearWeights weights_;
  kernels::InnerProductRequest product_;
  std::unique_ptr<kernels::InnerProduct> kernel_;
  std::unique_ptr<kernels::Conv> quantized_;  ///< replaces kernel_ for 8-bit integers
};

std::unique_ptr<Layer> make_inner_product(const LayerOptions& options) {
  if (options.config.inner_product_param().normalize()) return make_normalized_inner_product(options);
  return std::make_unique<InnerProductLayer>(options);
}

const RegisterLayer register_inner_product({
    .name = "InnerProduct",
    .help = "every output is a weighted sum of all inputs",
    .options = "inner_product_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_inner_product,
    .family = LayerFamily::kDense,
});

}  // namespace

}  // namespace cortado
