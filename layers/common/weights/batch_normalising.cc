#include "layers/common/weights/batch_normalising.h"

#include "layers/common/fusion_kinds.h"

namespace cortado {

/// Prepends its own factors, terms and ReLU to the fused steps.
kernels::PostOps BatchNormalising::with_own(kernels::PostOps post) const {
  if (form_.scales) post.affine = {{.scales = true, .shifts = form_.shifts}};
  if (form_.relu) post.activation = kernels::Activation::relu();
  return post;
}

bool BatchNormalising::accepts(const kernels::PostOps& post, NetMode) const {
  if (form_.relu || !post.activation.gates()) return false;
  if (post.affine.empty()) return true;
  return post.affine.size() == 1 && !form_.scales && post.affine[0].scales && !post.affine[0].normalises;
}

std::vector<Fusion> BatchNormalising::fusions(const FusionQuery& query) const {
  std::vector<Fusion> list;
  if (query.device.gradients) list.push_back(Fusion::maker(kGradientParts));
  if (query.device.statistics && !form_.given_statistics) list.push_back(Fusion::reader(kChannelSums));
  if (!query.device.maps || query.mode == NetMode::kFrozen) return list;
  if (query.post.sum)
    list.push_back(Fusion::reader(kChannelMap, 1));
  else if (!with_own(query.post).activation)
    list.push_back(Fusion::maker(kChannelMap));
  return list;
}

LayerNeeds BatchNormalising::prepare(const PrepareRequest& request, Context& context) {
  kernels::BatchNormRequest norm{.x = request.x[0]};
  if (norm.x.shape.axes() == 1) norm.x.shape = {norm.x.shape[0], 1};
  norm.eps = form_.eps;
  norm.given_statistics = form_.given_statistics;
  norm.post = post_ = with_own(request.post);
  norm.backward = request.backward;
  const auto agreed = [&](const FusionKind& kind, Fusion::Side side) {
    const Fusion* found = find_fusion(request.fusions, kind, side);
    return found ? std::optional(*found) : std::nullopt;
  };
  reads_sums_ = agreed(kChannelSums, Fusion::kReader);
  leaves_map_ = agreed(kChannelMap, Fusion::kMaker);
  takes_map_ = agreed(kChannelMap, Fusion::kReader);
  norm.two_dy = agreed(kGradientParts, Fusion::kMaker).has_value();
  norm.sums_given = reads_sums_.has_value();
  norm.writes_map = leaves_map_.has_value();
  norm.maps_addend = takes_map_.has_value();
  norm_ = kernels::plan_batch_norm(norm, context);
  const int64_t statistics = 2 * channels_of(request.x[0].shape) * int64_t(sizeof(float));
  LayerNeeds needs;
  needs.backward_reads_x = {true, false};
  needs.backward_reads_x.resize(request.x.size());
  if (reads_sums_) needs.backward_reads_x[reads_sums_->added] = true;  // recompute() needs all x, even if unused
  if (takes_map_)
    needs.backward_reads_x[1] = needs.backward_reads_x[takes_map_->added] = true;  // likewise; x[1] is available anyway
  needs.aliasing.y_is_x = norm.writes_map;
  needs.aliasing.y_may_overwrite_x = (post_.sum || !request.backward) && !norm.writes_map;
  needs.aliasing.overwritten_x = post_.sum && request.backward ? 1 : 0;
  needs.aliasing.dx_may_overwrite_dy = needs.aliasing.last_dx_overwrites = true;
  needs.saved = {statistics};
  if (request.backward) {
    const int64_t mask = norm_->mask_bytes();
    needs.last_saved_for_y = mask > 0 && !norm_->needs_mask();
    if (mask > 0) needs.saved.push_back(mask);
    norm.given_statistics = true;
    norm.backward = norm.two_dy = norm.sums_given = norm.writes_map = false;
    again_ = kernels::plan_batch_norm(norm, context);
    needs.can_recompute_y = !leaves_map_;
    needs.recompute_scratch = again_->forward_scratch();
  }
  needs.forward_scratch = norm_->forward_scratch();
  needs.backward_scratch = norm_->backward_scratch();
  needs.algorithm = norm_->name();
  return needs;
}

void BatchNormalising::forward(Context& context, const Operands& io) {
  if (form_.given_statistics) give(context, io, moments(io));
  kernels::BatchNormOperands call = operands(io);
  call.y = io.y[0].data;
  if (reads_sums_) call.sums = io.x[reads_sums_->added].f32();
  if (leaves_map_) call.map = io.y[leaves_map_->added].f32();
  if (io.saved.size() > 1) call.mask = io.saved[1];
  const bool finds = !form_.given_statistics && io.x[0].count() > 0;
  if (finds && norm_->keeps_average()) call.average = average(io);
  norm_->forward(context, call);
  if (finds && !call.average) keep(context, io, moments(io));
}

void BatchNormalising::recompute(Context& context, const Operands& io) {
  kernels::BatchNormOperands call = operands(io);
  call.y = io.y[0].data;
  again_->forward(context, call);
}

void BatchNormalising::backward(Context& context, const Operands& io) {
  kernels::BatchNormOperands call = operands(io);
  call.dy = io.dy[0].data;
  call.more_dy = io.more_dy.data;
  call.dx = io.dx[0].data;
  if (io.saved.size() > 1) call.mask = io.saved[1];
  call.y = io.y[0].data;
  if (post_.sum) call.daddend = io.dx[1].data;
  if (scales()) {
    call.dgamma = io.dw[form_.gamma].f32();
    call.add_dgamma = io.adds(form_.gamma);
  }
  if (shifts()) {
    call.dbeta = io.dw[form_.gamma + 1].f32();
    call.add_dbeta = io.adds(form_.gamma + 1);
  }
  norm_->backward(context, call);
}

int64_t BatchNormalising::flops(const std::vector<Shape>& x, const std::vector<Shape>&) const {
  return x[0].count() * ((form_.given_statistics ? 2 : 5) + (scales() ? 2 : 0) + post_.sum + bool(post_.activation));
}

BatchNormalising::Moments BatchNormalising::moments(const Operands& io) {
  float* mean = static_cast<float*>(io.saved[0]);
  return {mean, mean + channels_of(io.x[0].shape())};
}

kernels::BatchNormOperands BatchNormalising::operands(const Operands& io) const {
  kernels::BatchNormOperands call;
  call.x = io.x[0].data;
  if (post_.sum) call.addend = io.x[1].data;
  if (takes_map_) call.addend_map = io.x[takes_map_->added].f32();
  call.mean = moments(io).mean;
  call.variance = moments(io).variance;
  if (scales()) call.gamma = io.w[form_.gamma].f32();
  if (shifts()) call.beta = io.w[form_.gamma + 1].f32();
  call.scratch = io.scratch;
  return call;
}

}  // namespace cortado
