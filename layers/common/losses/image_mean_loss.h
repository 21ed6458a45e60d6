#pragma once

// The base of losses that are a mean over images. A rule computes a value for each image from some sums over its
// numbers; y is a function of the mean of these values. bottom[1] has a target for each prediction. For .cu files.
//
// A Rule has kSums; SumTerm<T>{x, targets, width}, whose row image * kSums + k adds up to sum k of the image; static
// CORTADO_HD float value(const float* sums) of an image and loss(float mean); slope(float x, float target, const float*
// sums), with dx = slope dy / images.

#include "layers/common/loops/typed.h"
#include "layers/common/losses/class_labels.h"
#include "layers/layer.h"

namespace cortado {

namespace {

template <typename Rule>
struct ValueOfImage {
  const float* sums;
  CORTADO_HD float operator()(int64_t, int64_t image) const { return Rule::value(sums + image * Rule::kSums); }
};

template <typename Rule>
struct MeanOfImages {
  float* y;
  float n;
  CORTADO_HD void operator()(int64_t) const { y[0] = n > 0 ? Rule::loss(y[0] / n) : 0; }
};

template <typename Rule, typename T>
struct GradientOfImages {
  const T* x;
  T* dx;
  const float *targets, *sums, *dy;
  int64_t width, images;
  CORTADO_HD void operator()(int64_t i) const {
    dx[i] = Rule::slope(float(x[i]), targets[i], sums + i / width * Rule::kSums) * (dy[0] / float(images));
  }
};

template <typename Rule>
class ImageMeanLoss : public Layer {
 public:
  LayerShapes infer(const std::vector<Shape>& x) override {
    require_targets(x[0], x[1]);
    images_ = x[0][0], width_ = x[0].count(1);
    return {.y = {Shape()}, .w = {}};
  }

  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kReads}; }
  bool differentiable(int i) const override { return i == 0; }

  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    LayerNeeds needs;
    needs.backward_reads_x = {true, true};
    needs.saved = {checked_mul(Rule::kSums * images_, sizeof(float))};
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    float *sums = static_cast<float*>(io.saved[0]), *y = io.y[0].f32();
    const auto sum = [&](const auto& term) { reduce_rows(context, Rule::kSums * images_, width_, term, sums); };
    with_functor<Rule::template SumTerm>(sum, io.x[0], static_cast<const float*>(io.x[1].f32()), width_);
    reduce_rows(context, 1, images_, ValueOfImage<Rule>{sums}, y);
    for_each(context, 1, MeanOfImages<Rule>{y, float(images_)});
  }

  void backward(Context& context, const Operands& io) override {
    if (io.dx[0])
      for_each_typed<Backward>(context, io.x[0], io.dx[0], io.x[1].f32(), static_cast<const float*>(io.saved[0]),
                               io.dy[0].f32(), width_, images_);
  }

 private:
  template <typename T>
  using Backward = GradientOfImages<Rule, T>;

  int64_t images_ = 0, width_ = 0;
};

}  // namespace

}  // namespace cortado
