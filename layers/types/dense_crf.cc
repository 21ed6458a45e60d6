// DenseCRF: a fully connected conditional random field over the pixels of an image, by mean field with Gaussian kernels
// (Kraehenbuehl and Koltun 2011), the last layer of DeepLab's nets. From the class scores s, x[0],
//     Q = softmax(s), then max_iter times Q = softmax(s + sum over the kernels of w K Q)
// where K Q is the mean of Q over all pixels, weighted by a Gaussian of their distance: in position (pos_w,
// pos_xy_std), or in position and colour (bi_w, bi_xy_std, bi_rgb_std), the colours being those of x[2]. Each entry of
// a list is one kernel. Gaussians are filtered by layers/common/loops/pixel_gaussian.h, so the result is an
// approximation, bit-identical for any number of threads.
//
// x[1] is the height and width of each image within x[0] (N x 1 x 1 x 2); outside of them y is 0. y is Q, or with
// output_probability: false the best class, N x 1 x H x W. It is computed on the host and has no gradient.

#include <algorithm>
#include <cmath>

#include "core/device/host_view.h"
#include "core/error.h"
#include "core/text/text.h"
#include "core/threads/threads.h"
#include "layers/common/loops/pixel_gaussian.h"
#include "layers/registry.h"

namespace cortado {

namespace {

using DenseCrfOptions = caffe::DenseCRFParameter;

/// The used part of an image, from its upper left corner.
struct DenseCrfSize {
  int64_t height, width;
  int64_t count() const { return height * width; }
};

class DenseCrfLayer : public Layer {
 public:
  explicit DenseCrfLayer(const LayerOptions& options) : param_(options.config.dense_crf_param()) {
    check_lists("pos_w", param_.pos_w(), {{"pos_xy_std", &param_.pos_xy_std()}});
    check_lists("bi_w", param_.bi_w(), {{"bi_xy_std", &param_.bi_xy_std()}, {"bi_rgb_std", &param_.bi_rgb_std()}});
    if (param_.bi_w_size() > 0 && options.config.bottom_size() < 3)
      throw FieldError("dense_crf_param.bi_w[0]", "colour kernels need an image as the third bottom",
                       "add the bottom, or remove bi_w");
    if (param_.bi_w_size() == 0 && options.config.bottom_size() > 2)
      throw FieldError("bottom[2]", "no kernel reads the image's colours", "set bi_w, bi_xy_std and bi_rgb_std");
  }

  LayerShapes infer(const std::vector<Shape>& x) override;
  bool differentiable(int) const override { return false; }
  LayerRoles roles() override { return {.needs_host = true}; }
  LayerNeeds prepare(const PrepareRequest&, Context&) override { return {}; }
  void forward(Context& context, const Operands& io) override;
  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override {
    return x[0].count() * param_.max_iter() * 50 * (param_.pos_w_size() + param_.bi_w_size());
  }

 private:
  using List = google::protobuf::RepeatedField<float>;
  void check_lists(const std::string& weight, const List& weights,
                   const std::vector<std::pair<std::string, const List*>>& deviations) const;
  void check_extent(const Shape& x, const std::string& name, const List& deviations, int dimensions) const;
  void place_kernels(Context& context, DenseCrfSize size, const float* image);
  void run(Context& context, DenseCrfSize size, const float* scores, const float* image, float* y);

  /// One kernel: the positions of pixels in its space, its weight divided by the sum of its Gaussian at each pixel.
  struct Kernel {
    PixelGaussian gaussian;
    std::vector<float> weights;
  };

  const DenseCrfOptions& param_;
  int64_t classes_ = 0, height_ = 0, width_ = 0;
  std::vector<Kernel> kernels_;
  std::vector<float> unary_, next_, q_, message_;
  HostStage staged_;
};

void DenseCrfLayer::check_lists(const std::string& weight, const List& weights,
                                const std::vector<std::pair<std::string, const List*>>& deviations) const {
  for (int i = 0; i < weights.size(); ++i)
    if (!std::isfinite(weights[i]))
      throw FieldError(entry("dense_crf_param." + weight, i), "it must be a finite number");
  for (const auto& [name, list] : deviations) {
    if (list->size() != weights.size())
      throw FieldError("dense_crf_param",
                       "it has " + std::to_string(weights.size()) + " values of " + weight + " and " +
                           std::to_string(list->size()) + " of " + name,
                       "set one of each for each kernel");
    for (int i = 0; i < list->size(); ++i)
      if (!((*list)[i] > 0 && std::isfinite((*list)[i])))
        throw FieldError(entry("dense_crf_param." + name, i),
                         name + " is " + to_text((*list)[i]) + ", but must be above 0");
  }
}

/// Throws FieldError unless the positions fit into the lattice.
void DenseCrfLayer::check_extent(const Shape& x, const std::string& name, const List& deviations,
                                 int dimensions) const {
  const float most = float(std::max(x[2], x[3]));
  for (int i = 0; i < deviations.size(); ++i)
    if (most / deviations[i] > Permutohedral::far_out(dimensions))
      throw FieldError(entry("dense_crf_param." + name, i),
                       name + " is " + to_text(deviations[i]) + ", too small for images of " + x.str());
}

LayerShapes DenseCrfLayer::infer(const std::vector<Shape>& x) {
  if (x[0].axes() != 4 || x[0][1] == 0)
    throw FieldError("bottom[0]", "its shape is " + x[0].str() + ", but scores must be N x C x H x W");
  if (x[1].count() != 2 * x[0][0])
    throw FieldError("bottom[1]", "its shape is " + x[1].str() + ", but must have the height and width of " +
                                      count_of(x[0][0], "image", "images"));
  if (x.size() > 2 && x[2] != Shape{x[0][0], kPixelColors, x[0][2], x[0][3]})
    throw FieldError("bottom[2]", "its shape is " + x[2].str() + ", but bottom[0] has " + x[0].str(),
                     "images need three channels and the size of the scores");
  check_extent(x[0], "pos_xy_std", param_.pos_xy_std(), 2);
  check_extent(x[0], "bi_xy_std", param_.bi_xy_std(), 2 + kPixelColors);
  classes_ = x[0][1], height_ = x[0][2], width_ = x[0][3];
  if (checked_mul(height_, width_) > (int64_t(1) << 26))
    throw FieldError("bottom[0]", "images of " + x[0].str() + " are too large");
  return {.y = {Shape{x[0][0], param_.output_probability() ? classes_ : 1, height_, width_}}, .w = {}};
}

void DenseCrfLayer::place_kernels(Context& context, DenseCrfSize size, const float* image) {
  const int n = param_.pos_w_size();
  kernels_.resize(size_t(n + param_.bi_w_size()));
  for (int k = 0; k < int(kernels_.size()); ++k) {
    const bool places = k < n;
    const int b = k - n;
    PixelSpace space{size.height, size.width, width_, height_ * width_,
                     places ? param_.pos_xy_std(k) : param_.bi_xy_std(b)};
    if (!places) space.image = image, space.color_std = param_.bi_rgb_std(b);
    Kernel& kernel = kernels_[size_t(k)];
    kernel.gaussian.place(context, space);
    kernel.weights = kernel.gaussian.sums();
    for (float& weight : kernel.weights) weight = (places ? param_.pos_w(k) : param_.bi_w(b)) / (weight + 1e-20f);
  }
}

void DenseCrfLayer::run(Context& context, DenseCrfSize size, const float* scores, const float* image, float* y) {
  const int64_t pixels = size.count();
  for (std::vector<float>* list : {&unary_, &next_, &q_, &message_}) list->resize(size_t(pixels * classes_));
  const auto in_plane = [&](int64_t i) { return i / size.width * width_ + i % size.width; };
  for (int64_t i = 0; i < pixels; ++i)
    for (int64_t c = 0; c < classes_; ++c)
      unary_[size_t(i * classes_ + c)] = scores[c * height_ * width_ + in_plane(i)];
  place_kernels(context, size, image);
  softmax_of_pixels(context, unary_.data(), pixels, classes_, q_.data());
  for (uint32_t step = 0; step < param_.max_iter(); ++step) {
    next_ = unary_;
    for (Kernel& kernel : kernels_) {
      kernel.gaussian.filter(context, q_.data(), classes_, message_.data());
      for (size_t i = 0; i < next_.size(); ++i) next_[i] += kernel.weights[i / size_t(classes_)] * message_[i];
    }
    softmax_of_pixels(context, next_.data(), pixels, classes_, q_.data());
  }
  for (int64_t i = 0; i < pixels; ++i) {
    const float* q = &q_[size_t(i * classes_)];
    if (!param_.output_probability()) y[in_plane(i)] = float(std::max_element(q, q + classes_) - q);
    for (int64_t c = 0; c < classes_ && param_.output_probability(); ++c) y[c * height_ * width_ + in_plane(i)] = q[c];
  }
}

void DenseCrfLayer::forward(Context& context, const Operands& io) {
  const HostView scores(context, io.x[0].f32(), io.x[0].count()), sizes(context, io.x[1].f32(), io.x[1].count());
  std::vector<HostView> images;
  if (io.x.size() > 2) images.emplace_back(context, io.x[2].f32(), io.x[2].count());
  float* y = staged_.begin(context, io.y[0].f32(), io.y[0].count());
  std::fill(y, y + io.y[0].count(), 0.0f);
  const int64_t plane = height_ * width_, images_count = io.x[0].shape()[0], of_y = io.y[0].shape().count(1);
  const auto side = [](float told, int64_t most) {
    return told >= 0 ? int64_t(std::min(told, float(most))) : 0;  // NaN: empty
  };
  for (int64_t n = 0; n < images_count; ++n) {
    const DenseCrfSize size{side(sizes.data()[2 * n], height_), side(sizes.data()[2 * n + 1], width_)};
    if (size.count() == 0) continue;
    const float* image = images.empty() ? nullptr : images[0].data() + n * kPixelColors * plane;
    run(context, size, scores.data() + n * classes_ * plane, image, y + n * of_y);
  }
  staged_.commit(context);
}

const RegisterLayer register_dense_crf({
    .name = "DenseCRF",
    .help = "refines class scores by a fully connected conditional random field",
    .options = "dense_crf_param",
    .min_bottoms = 2,
    .max_bottoms = 3,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<DenseCrfLayer>,
});

}  // namespace

}  // namespace cortado
