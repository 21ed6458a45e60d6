#include "layers/common/weights/dense_block_form.h"

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/shape_rules.h"
#include "layers/common/weights/filler.h"

namespace cortado {

namespace {

const std::string kDenseBlockFormOwn = "denseblock_param";
constexpr float kEps = 1e-5f;
constexpr int64_t kMaxSteps = 4096;

}  // namespace

DenseBlockForm::DenseBlockForm(const caffe::DenseBlockParameter& options, caffe::Phase phase)
    : options_(options),
      given_statistics_(phase == caffe::TEST),
      bottleneck_(options.use_bc()),
      steps_(options.numtransition()),
      initial_(options.initchannel()),
      growth_(options.growthrate()) {
  check_counts();
  check_window();
  const float drops = options_.dropout_amount();
  if (!(drops >= 0 && drops < 1))
    throw FieldError(kDenseBlockFormOwn + ".dropout_amount", "it is " + to_text(drops) + ", but must lie in [0, 1)",
                     "set the fraction of values that become 0");
  const float kept = options_.moving_average_fraction();
  if (!(kept >= 0 && kept <= 1))
    throw FieldError(kDenseBlockFormOwn + ".moving_average_fraction", "the fraction must lie in [0, 1]",
                     "set the weight of the old average");
}

void DenseBlockForm::check_counts() const {
  const std::pair<const char*, int64_t> counts[] = {
      {"numTransition", steps_}, {"initChannel", initial_}, {"growthRate", growth_}};
  for (const auto& [name, value] : counts) {
    if (value == 0)
      throw FieldError(kDenseBlockFormOwn, std::string(name) + " is missing or 0", "a block needs at least one");
    require_extent(value, kDenseBlockFormOwn + "." + name);
  }
  if (steps_ > kMaxSteps)
    throw FieldError(kDenseBlockFormOwn + ".numTransition",
                     "it is " + std::to_string(steps_) + ", but at most " + std::to_string(kMaxSteps));
  require_extent(checked_mul(steps_ + 4, growth_) + initial_, kDenseBlockFormOwn + ".growthRate");
}

void DenseBlockForm::check_window() const {
  const std::pair<const char*, uint32_t> strides[] = {{"conv_verticalStride", options_.conv_verticalstride()},
                                                      {"conv_horizentalStride", options_.conv_horizentalstride()}};
  for (const auto& [name, value] : strides)
    if (value != 1) throw FieldError(kDenseBlockFormOwn + "." + name, "only a stride of 1 keeps the size", "remove it");
  const std::pair<const char*, std::pair<uint32_t, uint32_t>> sides[] = {
      {"filter_H", {options_.filter_h(), options_.pad_h()}}, {"filter_W", {options_.filter_w(), options_.pad_w()}}};
  for (const auto& [name, side] : sides) {
    if (side.first % 2 == 0 || side.second != side.first / 2)
      throw FieldError(kDenseBlockFormOwn + "." + name,
                       "a filter of " + std::to_string(side.first) + " with a pad of " + std::to_string(side.second) +
                           " changes the size",
                       "use an odd filter size, and half of it, rounded down, as the pad");
    require_extent(side.first, kDenseBlockFormOwn + "." + name);
  }
}

LayerShapes DenseBlockForm::infer(const Shape& x) {
  if (x.axes() != 4 || x.count() == 0)
    throw FieldError("bottom[0]", "its shape is " + x.str() + ", but must be images, N x C x H x W");
  if (x[1] < initial_)
    throw FieldError(kDenseBlockFormOwn + ".initChannel", "it is " + std::to_string(initial_) + ", but bottom[0] has " +
                                                              count_of(x[1], "channel", "channels"));
  LayerShapes shapes{.y = {Shape{x[0], total(), x[2], x[3]}}, .w = {}};
  count_of_elements(shapes.y[0], "bottom[0]");
  parts_.clear();
  moments_ = 0;
  for (int64_t step = 0; step < steps_; ++step) {
    add_part(x, step, true);
    if (bottleneck_) add_part(x, step, false);
  }
  add_filters(shapes, false);
  add_norms(shapes, false);
  if (bottleneck_) {
    add_filters(shapes, true);
    add_norms(shapes, true);
  }
  shapes.w.push_back({.shape = {1}, .filler = {}, .learned = false});
  return shapes;
}

void DenseBlockForm::add_part(const Shape& x, int64_t step, bool first) {
  const bool is_small = bottleneck_ && first;
  parts_.push_back({.step = step,
                    .form = {.images = x[0],
                             .channels = first ? channels_before(step) : middle(),
                             .height = x[2],
                             .width = x[3],
                             .outputs = is_small ? middle() : growth_,
                             .kernel_h = is_small ? 1 : int64_t(options_.filter_h()),
                             .kernel_w = is_small ? 1 : int64_t(options_.filter_w()),
                             .eps = kEps,
                             .given_statistics = given_statistics_},
                    .filter = is_small ? kSmallFilter : kFilter,
                    .gamma = first ? kGamma : kGamma2,
                    .moments = moments_});
  moments_ += 2 * parts_.back().form.channels;
}

void DenseBlockForm::add_filters(LayerShapes& shapes, bool small) const {
  for (int64_t step = 0; step < steps_; ++step) {
    const Shape shape = small ? Shape{middle(), channels_before(step), 1, 1}
                              : Shape{growth_, bottleneck_ ? middle() : channels_before(step), options_.filter_h(),
                                      options_.filter_w()};
    shapes.w.push_back(filled_weight(options_.filter_filler(), shape, kDenseBlockFormOwn + ".Filter_Filler"));
  }
}

void DenseBlockForm::add_norms(LayerShapes& shapes, bool second) const {
  caffe::FillerParameter one;
  one.set_value(1);
  const caffe::FillerParameter& gamma = options_.has_bn_scaler_filler() ? options_.bn_scaler_filler() : one;
  const auto shape_of = [&](int64_t step) { return Shape{1, second ? middle() : channels_before(step), 1, 1}; };
  for (int64_t step = 0; step < steps_; ++step)
    shapes.w.push_back(filled_weight(gamma, shape_of(step), kDenseBlockFormOwn + ".BN_Scaler_Filler"));
  for (int64_t step = 0; step < steps_; ++step)
    shapes.w.push_back(
        filled_weight(options_.bn_bias_filler(), shape_of(step), kDenseBlockFormOwn + ".BN_Bias_Filler"));
  for (int64_t step = 0; step < 2 * steps_; ++step)
    shapes.w.push_back({.shape = shape_of(step % steps_), .filler = {}, .learned = false});
}

}  // namespace cortado
