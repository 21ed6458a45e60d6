// BoxAnnotatorOHEM (R-FCN): online hard example mining. Bottoms are regions R x 5 (common/regions.h), the loss and the
// label of each, and the weights of its box's numbers. The roi_per_img regions of each image with the largest losses
// (the first of equals) keep label and weights; all others get ignore_label and weights 0. Axes after the second are
// positions, each with a separate region. The layer has no gradient.
//
// A row whose image is not an integer of 0 or more is an error (validate()) and is ignored by forward. A NaN loss
// counts as the smallest.

#include <algorithm>
#include <cmath>

#include "core/device/host_view.h"
#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/detection/regions.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"

namespace cortado {

namespace {

class BoxAnnotatorOhemLayer : public Layer {
 public:
  explicit BoxAnnotatorOhemLayer(const LayerOptions& options) : param_(options.config.box_annotator_ohem_param()) {
    if (param_.roi_per_img() == 0)
      throw FieldError("box_annotator_ohem_param.roi_per_img", "roi_per_img is 0",
                       "set the number of regions per image");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    if (x[0].axes() < 2 || x[0][1] != 5) throw_not_regions(x[0], 0);
    places_ = x[0].count(2), count_ = x[0][0] * places_;
    for (size_t i = 1; i < 3; ++i)
      if (x[i].count() != count_)
        throw FieldError(entry("bottom", int64_t(i)),
                         "its shape is " + x[i].str() + ", but bottom[0] has " + std::to_string(count_) + " regions",
                         i == 1 ? "each region needs one loss" : "each region needs one label");
    if (x[3].axes() < 2 || x[3][0] != x[0][0] || x[3].count(2) != places_)
      throw FieldError("bottom[3]", "its shape is " + x[3].str() + ", but bottom[0] has " + x[0].str(),
                       "each region needs weights along axis 1");
    channels_ = x[3][1];
    return {.y = {x[2], x[3]}, .w = {}};
  }

  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    order_.resize(size_t(count_));
    return {};
  }

  void forward(Context& context, const Operands& io) override {
    const HostView regions(context, io.x[0].f32(), io.x[0].count()), losses(context, io.x[1].f32(), count_);
    const HostView labels(context, io.x[2].f32(), count_), weights(context, io.x[3].f32(), io.x[3].count());
    float* label = label_stage_.begin(context, io.y[0].f32(), count_);
    float* weight = weight_stage_.begin(context, io.y[1].f32(), io.x[3].count());
    std::fill_n(label, count_, float(param_.ignore_label()));
    std::fill_n(weight, io.x[3].count(), 0.0f);
    sort(regions.data(), losses.data());
    int64_t taken = 0;
    for (int64_t k = 0; k < count_; ++k) {
      const int64_t i = order_[size_t(k)];
      if (k > 0 && image(regions.data(), i) != image(regions.data(), order_[size_t(k - 1)])) taken = 0;
      if (!is_image(image(regions.data(), i)) || taken++ >= int64_t(param_.roi_per_img())) continue;
      label[i] = labels.data()[i];
      for (int64_t c = 0; c < channels_; ++c) weight[at(i, c, channels_)] = weights.data()[at(i, c, channels_)];
    }
    label_stage_.commit(context);
    weight_stage_.commit(context);
  }

  void validate(Context& context, const Operands& io) override {
    const HostView regions(context, io.x[0].f32(), io.x[0].count());
    for (int64_t i = 0; i < count_; ++i)
      if (!is_image(image(regions.data(), i)))
        throw Error(ExitCode::kData,
                    "region " + std::to_string(i) + " is of image " + to_text(image(regions.data(), i)),
                    "images of a batch are numbered from 0");
  }

  bool differentiable(int) const override { return false; }
  LayerRoles roles() override { return {.needs_host = true}; }

 private:
  /// The index of channel `channel` of region i.
  int64_t at(int64_t i, int64_t channel, int64_t channels) const {
    return (i / places_ * channels + channel) * places_ + i % places_;
  }
  float image(const float* regions, int64_t i) const { return regions[at(i, 0, 5)]; }
  static bool is_image(float v) { return v >= 0 && std::isfinite(v) && v == std::floor(v); }

  /// By image, then by decreasing loss; rows with an invalid image come last.
  void sort(const float* regions, const float* losses) {
    for (int64_t i = 0; i < count_; ++i) order_[size_t(i)] = i;
    const auto group = [&](int64_t i) { return is_image(image(regions, i)) ? image(regions, i) : INFINITY; };
    const auto loss = [&](int64_t i) { return std::isnan(losses[i]) ? -INFINITY : losses[i]; };
    std::sort(order_.begin(), order_.end(), [&](int64_t a, int64_t b) {
      if (group(a) != group(b)) return group(a) < group(b);
      return loss(a) > loss(b) || (loss(a) == loss(b) && a < b);
    });
  }

  const caffe::BoxAnnotatorOHEMParameter& param_;
  int64_t places_ = 1, count_ = 0, channels_ = 0;
  std::vector<int64_t> order_;
  HostStage label_stage_, weight_stage_;
};

const RegisterLayer register_box_annotator_ohem({
    .name = "BoxAnnotatorOHEM",
    .help = "keeps the labels and weights of the regions with the largest losses",
    .options = "box_annotator_ohem_param",
    .min_bottoms = 4,
    .max_bottoms = 4,
    .min_tops = 2,
    .max_tops = 2,
    .make = make_layer<BoxAnnotatorOhemLayer>,
});

}  // namespace

}  // namespace cortado
