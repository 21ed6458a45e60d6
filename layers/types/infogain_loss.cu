// InfogainLoss: p = softmax(x), loss = -sum over rows of sum over classes k of H[label][k] log(max(p[k], 1e-20)) /
// normalizer. H, classes x classes, is the third bottom or is read from the file `source`; with H = identity this is
// SoftmaxWithLoss. dx = dy (p sum of H[label] - H[label]) / normalizer, ignoring the floor of 1e-20. See
// layers/common/losses/softmax_loss.h for the shared parts.

#include <cmath>

#include "core/device/device_memory.h"
#include "core/error.h"
#include "layers/common/losses/softmax_loss.h"
#include "layers/common/windows/volume_options.h"
#include "layers/registry.h"
#include "proto/weights/weights_file.h"

namespace cortado {

namespace {

struct InfogainRule {
  SoftmaxRows rows;
  ClassLabels labels;
  const float* h;
  const float* gains;  ///< the sum of each row of H

  CORTADO_HD bool counts(int64_t r) const { return labels.counts(r); }
  CORTADO_HD bool valid(int64_t r) const { return labels.valid(r); }
  CORTADO_HD float count(int64_t) const { return 1; }
  CORTADO_HD int64_t label(int64_t r) const { return int64_t(labels.values[r]); }
  CORTADO_HD float gain(int64_t r, int64_t c) const { return h[label(r) * rows.classes + c]; }

  CORTADO_HD float loss(int64_t r, const float* p) const {
    float loss = 0;
    for (int64_t c = 0; c < rows.classes; ++c) {
      const float v = p[rows.at(r, c)];
      loss -= gain(r, c) * logf(v < 1e-20f ? 1e-20f : v);
    }
    return loss;
  }
  CORTADO_HD float slope(int64_t r, int64_t c, int64_t i, const float* p) const {
    return p[i] * gains[label(r)] - gain(r, c);
  }
};

struct Gain {
  const float* h;
  int64_t classes;
  CORTADO_HD float operator()(int64_t label, int64_t c) const { return h[label * classes + c]; }
};

class InfogainLossLayer : public SoftmaxLoss {
 public:
  explicit InfogainLossLayer(const LayerOptions& options);

  LayerShapes infer(const std::vector<Shape>& x) override;
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override;
  void forward(Context& context, const Operands& io) override {
    const InfogainRule rule = rule_of(io);
    reduce_rows(context, classes(), classes(), Gain{rule.h, classes()}, kept(io));
    forward_rows(context, io, rule);
  }
  void backward(Context& context, const Operands& io) override { backward_rows(context, io, rule_of(io)); }
  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override { return 7 * x[0].count(); }

 private:
  int64_t kept_floats() const override { return classes(); }
  InfogainRule rule_of(const Operands& io) const {
    const float* h = io.x.size() > 2 ? io.x[2].f32() : reinterpret_cast<const float*>(matrix_.data());
    return {places(), labels(io.x[1].f32()), h, kept(io)};
  }
  void check_matrix(const Shape& h, const std::string& field) const;

  const caffe::InfogainLossParameter& infogain_;
  bool opens_source_;
  std::vector<float> source_;  ///< H, read from the file
  DeviceMemory matrix_;        ///< H in device memory
};

InfogainLossLayer::InfogainLossLayer(const LayerOptions& layer)
    : SoftmaxLoss(layer), infogain_(layer.config.infogain_loss_param()), opens_source_(layer.open_data) {
  const bool third = layer.config.bottom_size() > 2;
  if (!third && !infogain_.has_source())
    throw FieldError("infogain_loss_param", "the infogain matrix is missing",
                     "set source to its file, or add it as a third bottom");
  if (third && infogain_.has_source())
    throw FieldError("infogain_loss_param.source", "source contradicts the third bottom, which is the infogain matrix",
                     "remove one of them");
  if (options().label_smoothing() != 0)
    throw FieldError("loss_param.label_smoothing", "label_smoothing is not available here",
                     "put the smoothing into the rows of the infogain matrix");
  refuse_fields(options(), "loss_param", {"class_weight", "class_weighting", "weight_by_label_freqs"},
                "multiply the rows of the infogain matrix by the weights");
}

void InfogainLossLayer::check_matrix(const Shape& h, const std::string& field) const {
  if (h.count() == checked_mul(classes(), classes())) return;
  const std::string n = std::to_string(classes());
  throw FieldError(field,
                   "the infogain matrix has " + std::to_string(h.count()) + " values (" + h.str() +
                       "), but there are " + n + " classes",
                   "set a matrix of " + n + " x " + n);
}

LayerShapes InfogainLossLayer::infer(const std::vector<Shape>& x) {
  LayerShapes shapes = settle(x[0], infogain_.axis(), "infogain_loss_param.axis");
  require_labels(x[0], x[1], rows());
  if (x.size() > 2) {
    check_matrix(x[2], "bottom[2]");
  } else if (opens_source_) {
    BlobFile file = read_blob_file(infogain_.source());
    check_matrix(file.shape, "infogain_loss_param.source");
    source_ = std::move(file.data);
  }
  return shapes;
}

LayerNeeds InfogainLossLayer::prepare(const PrepareRequest& request, Context& context) {
  if (request.x.size() == 2) {
    matrix_ = DeviceMemory(context, size_t(classes() * classes()) * sizeof(float));
    copy_to_device(context, matrix_.data(), source_.data(), source_.size() * sizeof(float));
  }
  return SoftmaxLoss::prepare(request, context);
}

const RegisterLayer register_infogain_loss({
    .name = "InfogainLoss",
    .help = "softmax and the log-likelihood of all classes, weighted by a row of a matrix for each label",
    .options = "infogain_loss_param",
    .min_bottoms = 2,
    .max_bottoms = 3,
    .min_tops = 1,
    .max_tops = 2,
    .make = make_layer<InfogainLossLayer>,
    .loss = LossRole{.answer = "Softmax",
                     .axis = [](const caffe::LayerParameter& config) { return config.infogain_loss_param().axis(); }},
    .loss_fields = kAllLossFields,
});

}  // namespace

}  // namespace cortado
