#include <algorithm>

#include "core/error.h"
#include "layers/common/losses/softmax_loss.h"
#include "layers/common/shape_rules.h"

namespace cortado {

namespace {

constexpr const char* kAdvice =
    "set num_output of the layer before to the number of classes, or loss_param.ignore_label to skip a label";

}  // namespace

SoftmaxLoss::SoftmaxLoss(const LayerOptions& options)
    : loss_(options.config.loss_param()), tops_(std::max(options.config.top_size(), 1)), shows_p_(tops_ > 1) {}

LayerShapes SoftmaxLoss::settle(const Shape& x, int64_t axis_option, const std::string& field) {
  const int axis = axis_of(x, axis_option, field);
  outer_ = x.count(0, axis), classes_ = x[axis], inner_ = x.count(axis + 1);
  if (classes_ == 0) throw FieldError("bottom[0]", "its shape is " + x.str() + ", without classes");
  Shape rows = x;
  rows[axis] = 1;
  const std::vector<Shape> y = {Shape(), x, rows};
  return {.y = {y.begin(), y.begin() + tops_}, .w = {}};
}

LayerNeeds SoftmaxLoss::prepare(const PrepareRequest& request, Context& context) {
  LayerNeeds needs;
  needs.backward_reads_x.assign(request.x.size(), true);
  needs.backward_reads_x[0] = false;
  needs.backward_reads_y.assign(request.y.size(), false);
  needs.saved = {(1 + kept_floats()) * kFloatBytes};
  if (shows_p_)
    needs.backward_reads_y[1] = true;
  else
    needs.saved.push_back(request.x[0].shape.count() * kFloatBytes);
  needs.forward_scratch = (rows() + 2) * kFloatBytes;
  needs.backward_scratch = shows_p_ ? rows() * kFloatBytes : 0;
  softmax_.reset();
  if (!request.backward) quotient_ = DeviceMemory(context, 2 * kFloatBytes);
  needs.algorithm = "own";
  if (!kernels::softmax_wants_a_pass_of_its_own(context, request.x[0].dtype)) return needs;
  softmax_ = kernels::plan_softmax({outer_, classes_, inner_}, context);
  needs.forward_scratch = std::max(softmax_->forward_scratch(), needs.forward_scratch);
  needs.algorithm = softmax_->name();
  return needs;
}

void SoftmaxLoss::validate(Context& context, const Operands& io) {
  if (names_classes()) validate_labels(context, io.x[1], labels(nullptr), inner_, kAdvice);
}

std::optional<ClassLabels> SoftmaxLoss::class_labels() const {
  if (!names_classes()) return std::nullopt;
  return labels(nullptr);
}

ClassLabels SoftmaxLoss::labels(const float* values) const {
  return {values, classes_, loss_.has_ignore_label(), float(loss_.ignore_label())};
}

Ratio SoftmaxLoss::quotient(size_t k) const {
  if (k > 0 || !quotient_.data()) return {};
  return loss_quotient(loss_, caffe::LossParameter::VALID, fixed_normalizer(), quotient_data());
}

int64_t SoftmaxLoss::note_classes(Context& context) {
  if (!names_classes()) return 0;
  notes_.start(context, rows());
  return classes_;
}

void SoftmaxLoss::note_rows(Context& context, const Operands& io) const {
  note(context, notes_, io.x[0], labels(io.x[1].f32()), inner_);
}

float SoftmaxLoss::fixed_normalizer() const {
  return cortado::fixed_normalizer(loss_, caffe::LossParameter::VALID, rows(), outer_,
                                   names_classes() ? 0 : float(rows()));
}

}  // namespace cortado
