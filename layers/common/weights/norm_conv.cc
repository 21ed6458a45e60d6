#include "layers/common/weights/norm_conv.h"

#include <algorithm>

namespace cortado {

kernels::ConvShape NormConv::conv_shape(const Form& form) {
  const auto axis = [](int64_t in, int64_t kernel) {
    return kernels::ConvAxis{.in = in, .kernel = kernel, .pad = kernel / 2};
  };
  return {.n = form.images,
          .c = form.channels,
          .k = form.outputs,
          .h = axis(form.height, form.kernel_h),
          .w = axis(form.width, form.kernel_w)};
}

NormConv::NormConv(const Form& form, const PrepareRequest& request, size_t filter, Context& context) : form_(form) {
  kernels::BatchNormRequest norm{.x = {.shape = {form.images, form.channels, form.height, form.width}}};
  norm.eps = form.eps;
  norm.given_statistics = form.given_statistics;
  norm.post.affine = {{.scales = true, .shifts = true}};
  norm.post.activation = kernels::Activation::relu();
  norm.backward = request.backward;
  norm_ = kernels::plan_batch_norm(norm, context);
  kernels::ConvRequest conv{.shape = conv_shape(form)};
  conv.backward_data = request.backward;
  conv.backward_weights = request.backward && request.wants_dw[filter];
  conv.adds = request.adds_dw;
  if (request.fixed_weight_formats) conv.w_format = request.w_formats[filter];
  conv_ = kernels::plan_conv(conv, context);
  if (!request.backward) return;
  norm.given_statistics = true;
  norm.backward = false;
  again_ = kernels::plan_batch_norm(norm, context);
}

int64_t NormConv::forward_scratch() const { return std::max(norm_->forward_scratch(), conv_->forward_scratch()); }

int64_t NormConv::backward_scratch() const {
  const int64_t again = again_ ? std::max(again_->forward_scratch(), conv_->forward_scratch()) : 0;
  return std::max({again, norm_->backward_scratch(), conv_->backward_scratch()});
}

int64_t NormConv::flops(const Form& form) {
  return 2 * conv_shape(form).macs() + 8 * form.images * form.channels * form.height * form.width;
}

kernels::BatchNormOperands NormConv::norm_operands(const Operands& io) {
  kernels::BatchNormOperands call;
  call.x = io.x;
  call.mean = io.mean;
  call.variance = io.variance;
  call.gamma = io.gamma;
  call.beta = io.beta;
  call.scratch = io.scratch;
  return call;
}

void NormConv::normalise(Context& context, kernels::BatchNorm& norm, const Operands& io) {
  kernels::BatchNormOperands call = norm_operands(io);
  call.y = io.between;
  norm.forward(context, call);
}

void NormConv::run(Context& context, kernels::BatchNorm& norm, const Operands& io) {
  normalise(context, norm, io);
  conv_->forward(context, {.x = io.between, .w = io.filter, .y = io.y}, io.scratch);
}

void NormConv::forward(Context& context, const Operands& io) { run(context, *norm_, io); }

void NormConv::recompute(Context& context, const Operands& io) { run(context, *again_, io); }

void NormConv::backward(Context& context, const Operands& io) {
  if (io.d.w) {
    normalise(context, *again_, io);
    conv_->backward_weights(context, {.x = io.between, .dy = io.dy, .d = io.d}, io.scratch);
  }
  conv_->backward_data(context, {.dy = io.dy, .w = io.filter, .dx = io.between}, io.scratch);
  kernels::BatchNormOperands call = norm_operands(io);
  call.dy = io.between;
  call.dx = io.dx;
  call.dgamma = io.dgamma;
  call.dbeta = io.dbeta;
  call.add_dgamma = io.add_dgamma;
  call.add_dbeta = io.add_dbeta;
  norm_->backward(context, call);
}

}  // namespace cortado
