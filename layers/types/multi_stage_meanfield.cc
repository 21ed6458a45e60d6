// MultiStageMeanfield (CRF-RNN, Zheng et al. 2015): mean field of a fully connected conditional random field with
// learned weights. With the unary scores u = x[0], the start s = x[1], and the colours of x[2] (N x 3 x H x W),
//     num_iterations times: q = softmax(s),  m = A K1 q + B K2 q,  s = u - M m
// and y = s. K1 q is the mean of q over all pixels, weighted by a Gaussian of their distance in position (theta_gamma);
// K2 q is that in position and colour (theta_alpha, theta_beta). Gaussians are filtered by
// layers/common/loops/pixel_gaussian.h. The weights A, B and M, C x C, multiply the classes of each pixel. A and B
// begin as diagonal matrices of spatial_filter_weight and bilateral_filter_weight, M as -1 on the diagonal (Potts).
//
// Backward computes the gradients of all weights, x[0] and x[1], by the transposed filters; the image has none. It
// filters the saved q again, which takes less memory than storing the results. On the host.

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/device/host_view.h"
#include "core/error.h"
#include "core/text/text.h"
#include "core/threads/threads.h"
#include "layers/common/loops/pixel_gaussian.h"
#include "layers/common/weights/given_values.h"
#include "layers/registry.h"

namespace cortado {

namespace {

using MeanfieldOptions = caffe::MultiStageMeanfieldParameter;

constexpr size_t kMeanfieldWeights = 3;  ///< A, B, M

/// The diagonal of a C x C weight.
std::vector<float> meanfield_diagonal(const std::string& name, float weight, const std::string& list, int64_t classes) {
  if (list.empty()) return std::vector<float>(size_t(classes), weight);
  const std::string field = "multi_stage_meanfield_param." + name + "s_str";
  std::vector<float> values;
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find(' ', at), list.size());
    const std::string word = list.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    char* rest = nullptr;
    values.push_back(std::strtof(word.c_str(), &rest));
    if (*rest != '\0') throw FieldError(field, "'" + word + "' is not a number", "separate numbers by spaces");
  }
  if (values.empty() || int64_t(values.size()) > classes)
    throw FieldError(
        field, count_of(int64_t(values.size()), "value", "values") + " for " + count_of(classes, "class", "classes"),
        "set one for each class, or fewer: the last is that of all further classes");
  values.resize(size_t(classes), values.back());
  return values;
}

WeightSpec diagonal_weight(const std::vector<float>& diagonal) {
  const size_t classes = diagonal.size();
  std::vector<float> values(classes * classes, 0.0f);
  for (size_t c = 0; c < classes; ++c) values[c * classes + c] = diagonal[c];
  return {.shape = {1, 1, int64_t(classes), int64_t(classes)}, .filler = filler_of_values(values)};
}

/// sum += a v, or a^T v with `transposed`, for a n x n matrix.
void add_product(const float* a, const float* v, int64_t n, bool transposed, float* sum) {
  for (int64_t r = 0; r < n; ++r)
    for (int64_t c = 0; c < n; ++c) sum[r] += a[transposed ? c * n + r : r * n + c] * v[c];
}

class MultiStageMeanfieldLayer : public Layer {
 public:
  explicit MultiStageMeanfieldLayer(const LayerOptions& options)
      : param_(options.config.multi_stage_meanfield_param()), steps_(int64_t(param_.num_iterations())) {
    if (steps_ < 1 || steps_ > 1000)
      throw FieldError("multi_stage_meanfield_param.num_iterations", "it is " + std::to_string(steps_),
                       "set it to at least 1 and at most 1000");
  }

  LayerShapes infer(const std::vector<Shape>& x) override;
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override;
  void forward(Context& context, const Operands& io) override;
  void backward(Context& context, const Operands& io) override;
  bool differentiable(int i) const override { return i < 2; }
  LayerRoles roles() override { return {.needs_host = true}; }
  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override {
    return x[0].count() * steps_ * (100 + 6 * x[0][1]);
  }

 private:
  using Values = std::vector<float>;  ///< pixels x classes
  struct Kernel {
    PixelGaussian gaussian;
    Values means;  ///< 1 / sums()
  };
  struct Weights {
    const float *spatial, *bilateral, *compatibility;
  };

  void check_theta(float theta, const std::string& name, const Shape& x, int dimensions) const;
  void place(Context& context, const float* image);
  void set_means(Kernel& kernel) const;
  void filter(Context& context, Kernel& kernel, const float* q, Values& out) const;
  void step(Context& context, const Weights& w, const float* q);
  void step_back(Context& context, const Weights& w, const float* q);
  void add_weight_gradients(Context& context);
  void put_weight_gradient(Context& context, const Operands& io, size_t i);
  void to_pixels(const float* planes, Values& values) const;
  void to_planes(const Values& values, float* planes) const;
  int64_t saved_values() const { return steps_ * pixels() * classes_; }  ///< of an image
  int64_t pixels() const { return height_ * width_; }

  const MeanfieldOptions& param_;
  int64_t steps_, images_ = 0, classes_ = 0, height_ = 0, width_ = 0;
  bool learns_ = false;
  Kernel spatial_, bilateral_;
  Values unary_, score_, q_, from_spatial_, from_bilateral_;
  Values d_score_, d_unary_, message_, d_message_, d_spatial_, d_bilateral_, d_q_;
  std::vector<double> d_weights_[kMeanfieldWeights];
  HostStage y_stage_, saved_stage_, dx_stages_[2], dw_stages_[kMeanfieldWeights];
};

void MultiStageMeanfieldLayer::check_theta(float theta, const std::string& name, const Shape& x, int dimensions) const {
  const std::string field = "multi_stage_meanfield_param." + name;
  if (!(theta > 0 && std::isfinite(theta)))
    throw FieldError(field, name + " is " + to_text(theta) + ", but must be above 0");
  if (dimensions > 0 && float(std::max(x[2], x[3])) / theta > Permutohedral::far_out(dimensions))
    throw FieldError(field, name + " is " + to_text(theta) + ", too small for images of " + x.str());
}

LayerShapes MultiStageMeanfieldLayer::infer(const std::vector<Shape>& x) {
  if (x[0].axes() != 4 || x[0][1] == 0)
    throw FieldError("bottom[0]", "its shape is " + x[0].str() + ", but scores must be N x C x H x W");
  if (x[1] != x[0]) throw FieldError("bottom[1]", "its shape is " + x[1].str() + ", but bottom[0] has " + x[0].str());
  if (x[2] != Shape{x[0][0], kPixelColors, x[0][2], x[0][3]})
    throw FieldError("bottom[2]", "its shape is " + x[2].str() + ", but bottom[0] has " + x[0].str(),
                     "images need three channels and the size of the scores");
  images_ = x[0][0], classes_ = x[0][1], height_ = x[0][2], width_ = x[0][3];
  if (checked_mul(height_, width_) > (int64_t(1) << 26))
    throw FieldError("bottom[0]", "images of " + x[0].str() + " are too large");
  check_theta(param_.theta_gamma(), "theta_gamma", x[0], 2);
  check_theta(param_.theta_alpha(), "theta_alpha", x[0], 2 + kPixelColors);
  check_theta(param_.theta_beta(), "theta_beta", x[0], 0);
  const std::vector<float> a = meanfield_diagonal("spatial_filter_weight", param_.spatial_filter_weight(),
                                                  param_.spatial_filter_weights_str(), classes_);
  const std::vector<float> b = meanfield_diagonal("bilateral_filter_weight", param_.bilateral_filter_weight(),
                                                  param_.bilateral_filter_weights_str(), classes_);
  const std::vector<float> potts(size_t(classes_), -1.0f);
  return {.y = {x[0]}, .w = {diagonal_weight(a), diagonal_weight(b), diagonal_weight(potts)}};
}

LayerNeeds MultiStageMeanfieldLayer::prepare(const PrepareRequest& request, Context& context) {
  learns_ = request.backward;
  for (Values* values : {&unary_, &score_, &q_, &from_spatial_, &from_bilateral_})
    values->resize(size_t(pixels() * classes_));
  for (Values* values : {&d_score_, &d_unary_, &message_, &d_message_, &d_spatial_, &d_bilateral_, &d_q_})
    values->resize(learns_ ? size_t(pixels() * classes_) : 0);
  for (std::vector<double>& gradient : d_weights_) gradient.resize(size_t(classes_ * classes_));
  spatial_.gaussian.place(context, {height_, width_, width_, pixels(), param_.theta_gamma()});
  set_means(spatial_);
  LayerNeeds needs;
  needs.backward_reads_x = {false, false, true};
  needs.saved = {learns_ ? checked_mul(images_, saved_values()) * int64_t(sizeof(float)) : 0};
  return needs;
}

void MultiStageMeanfieldLayer::set_means(Kernel& kernel) const {
  kernel.means = kernel.gaussian.sums();
  for (float& mean : kernel.means) mean = 1 / (mean + 1e-20f);
}

void MultiStageMeanfieldLayer::place(Context& context, const float* image) {
  bilateral_.gaussian.place(context,
                            {height_, width_, width_, pixels(), param_.theta_alpha(), image, param_.theta_beta()});
  set_means(bilateral_);
}

/// The weighted mean of q at each pixel.
void MultiStageMeanfieldLayer::filter(Context& context, Kernel& kernel, const float* q, Values& out) const {
  kernel.gaussian.filter(context, q, classes_, out.data());
  for (size_t i = 0; i < out.size(); ++i) out[i] *= kernel.means[i / size_t(classes_)];
}

/// From q to the next scores.
void MultiStageMeanfieldLayer::step(Context& context, const Weights& w, const float* q) {
  filter(context, spatial_, q, from_spatial_);
  filter(context, bilateral_, q, from_bilateral_);
  parallel_ranges(context, pixels(), 64, [&](int64_t begin, int64_t end) {
    std::vector<float> message(size_t(classes_), 0.0f), pairwise(message);
    for (int64_t i = begin * classes_; i < end * classes_; i += classes_) {
      std::fill(message.begin(), message.end(), 0.0f);
      std::fill(pairwise.begin(), pairwise.end(), 0.0f);
      add_product(w.spatial, &from_spatial_[size_t(i)], classes_, false, message.data());
      add_product(w.bilateral, &from_bilateral_[size_t(i)], classes_, false, message.data());
      add_product(w.compatibility, message.data(), classes_, false, pairwise.data());
      for (int64_t c = 0; c < classes_; ++c) score_[size_t(i + c)] = unary_[size_t(i + c)] - pairwise[size_t(c)];
    }
  });
}

void MultiStageMeanfieldLayer::forward(Context& context, const Operands& io) {
  std::vector<HostView> x, w;
  for (const Tensor& operand : io.x) x.emplace_back(context, operand.f32(), operand.count());
  for (const Tensor& weight : io.w) w.emplace_back(context, weight.f32(), weight.count());
  float* y = y_stage_.begin(context, io.y[0].f32(), io.y[0].count());
  float* saved =
      learns_ ? saved_stage_.begin(context, static_cast<float*>(io.saved[0]), images_ * saved_values()) : nullptr;
  const int64_t of_image = pixels() * classes_;
  for (int64_t n = 0; n < images_; ++n) {
    place(context, x[2].data() + n * kPixelColors * pixels());
    to_pixels(x[0].data() + n * of_image, unary_);
    to_pixels(x[1].data() + n * of_image, score_);
    for (int64_t t = 0; t < steps_; ++t) {
      float* q = learns_ ? saved + n * saved_values() + t * of_image : q_.data();
      softmax_of_pixels(context, score_.data(), pixels(), classes_, q);
      step(context, {w[0].data(), w[1].data(), w[2].data()}, q);
    }
    to_planes(score_, y + n * of_image);
  }
  y_stage_.commit(context);
  if (learns_) saved_stage_.commit(context);
}

/// From d_score_, the gradient of the scores after a step, to that of the scores before it; adds those of the weights.
void MultiStageMeanfieldLayer::step_back(Context& context, const Weights& w, const float* q) {
  filter(context, spatial_, q, from_spatial_);
  filter(context, bilateral_, q, from_bilateral_);
  for (Values* values : {&message_, &d_message_, &d_spatial_, &d_bilateral_})
    std::fill(values->begin(), values->end(), 0.0f);
  parallel_ranges(context, pixels(), 64, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const size_t i = size_t(p * classes_);
      add_product(w.spatial, &from_spatial_[i], classes_, false, &message_[i]);
      add_product(w.bilateral, &from_bilateral_[i], classes_, false, &message_[i]);
      add_product(w.compatibility, &d_score_[i], classes_, true, &d_message_[i]);
      for (size_t c = i; c < i + size_t(classes_); ++c) d_message_[c] = -d_message_[c];
      add_product(w.spatial, &d_message_[i], classes_, true, &d_spatial_[i]);
      add_product(w.bilateral, &d_message_[i], classes_, true, &d_bilateral_[i]);
      for (size_t c = i; c < i + size_t(classes_); ++c) {
        d_spatial_[c] *= spatial_.means[size_t(p)];
        d_bilateral_[c] *= bilateral_.means[size_t(p)];
      }
    }
  });
  add_weight_gradients(context);
  spatial_.gaussian.filter(context, d_spatial_.data(), classes_, d_q_.data(), true);
  bilateral_.gaussian.filter(context, d_bilateral_.data(), classes_, d_spatial_.data(), true);
  for (size_t i = 0; i < d_q_.size(); i += size_t(classes_)) {
    float mean = 0;
    for (size_t c = i; c < i + size_t(classes_); ++c) mean += q[c] * (d_q_[c] += d_spatial_[c]);
    for (size_t c = i; c < i + size_t(classes_); ++c) d_score_[c] = q[c] * (d_q_[c] - mean);
  }
}

void MultiStageMeanfieldLayer::add_weight_gradients(Context& context) {
  const Values* outer[kMeanfieldWeights] = {&d_message_, &d_message_, &d_score_};
  const Values* inner[kMeanfieldWeights] = {&from_spatial_, &from_bilateral_, &message_};
  parallel_ranges(context, int64_t(kMeanfieldWeights) * classes_, 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const size_t k = size_t(row / classes_);
      const double sign = k == 2 ? -1 : 1;
      for (int64_t p = 0; p < pixels(); ++p)
        for (int64_t c = 0; c < classes_; ++c)
          d_weights_[k][size_t(row % classes_ * classes_ + c)] +=
              sign * double((*outer[k])[size_t(p * classes_ + row % classes_)]) *
              double((*inner[k])[size_t(p * classes_ + c)]);
    }
  });
}

void MultiStageMeanfieldLayer::put_weight_gradient(Context& context, const Operands& io, size_t i) {
  if (!io.dw[i]) return;
  const int64_t count = io.dw[i].count();
  const HostView before(context, io.dw[i].f32(), io.adds(i) ? count : 0);
  float* to = dw_stages_[i].begin(context, io.dw[i].f32(), count);
  for (int64_t k = 0; k < count; ++k) to[k] = float(d_weights_[i][size_t(k)]) + (io.adds(i) ? before.data()[k] : 0);
  dw_stages_[i].commit(context);
}

void MultiStageMeanfieldLayer::backward(Context& context, const Operands& io) {
  std::vector<HostView> w;
  for (const Tensor& weight : io.w) w.emplace_back(context, weight.f32(), weight.count());
  const HostView image(context, io.x[2].f32(), io.x[2].count());
  const HostView dy(context, io.dy[0] ? io.dy[0].f32() : nullptr, io.dy[0] ? io.dy[0].count() : 0);
  const HostView saved(context, static_cast<const float*>(io.saved[0]), images_ * saved_values());
  float* dx[2] = {};
  for (size_t i = 0; i < 2; ++i)
    if (io.dx[i]) dx[i] = dx_stages_[i].begin(context, io.dx[i].f32(), io.dx[i].count());
  for (std::vector<double>& gradient : d_weights_) std::fill(gradient.begin(), gradient.end(), 0.0);
  const int64_t of_image = pixels() * classes_;
  for (int64_t n = 0; n < images_; ++n) {
    place(context, image.data() + n * kPixelColors * pixels());
    std::fill(d_score_.begin(), d_score_.end(), 0.0f);
    if (io.dy[0]) to_pixels(dy.data() + n * of_image, d_score_);
    std::fill(d_unary_.begin(), d_unary_.end(), 0.0f);
    for (int64_t t = steps_; t-- > 0;) {
      for (size_t i = 0; i < d_unary_.size(); ++i) d_unary_[i] += d_score_[i];
      step_back(context, {w[0].data(), w[1].data(), w[2].data()}, saved.data() + n * saved_values() + t * of_image);
    }
    if (dx[0]) to_planes(d_unary_, dx[0] + n * of_image);
    if (dx[1]) to_planes(d_score_, dx[1] + n * of_image);
  }
  for (size_t i = 0; i < 2; ++i)
    if (dx[i]) dx_stages_[i].commit(context);
  for (size_t i = 0; i < kMeanfieldWeights; ++i) put_weight_gradient(context, io, i);
}

void MultiStageMeanfieldLayer::to_pixels(const float* planes, Values& values) const {
  for (int64_t p = 0; p < pixels(); ++p)
    for (int64_t c = 0; c < classes_; ++c) values[size_t(p * classes_ + c)] = planes[c * pixels() + p];
}

void MultiStageMeanfieldLayer::to_planes(const Values& values, float* planes) const {
  for (int64_t p = 0; p < pixels(); ++p)
    for (int64_t c = 0; c < classes_; ++c) planes[c * pixels() + p] = values[size_t(p * classes_ + c)];
}

const RegisterLayer register_multi_stage_meanfield({
    .name = "MultiStageMeanfield",
    .help = "mean field of a trainable fully connected conditional random field (CRF-RNN)",
    .options = "multi_stage_meanfield_param",
    .min_bottoms = 3,
    .max_bottoms = 3,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<MultiStageMeanfieldLayer>,
});

}  // namespace

}  // namespace cortado
