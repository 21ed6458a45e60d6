// MalisLoss (OpenCL Caffe): constrained MALIS (layers/common/losses/malis.h; Funke et al. 2017) for segmentations. x[0]
// has the predicted affinities of E kinds of edges, N x E x (Z x) (Y x) X, x[1] the true ones, and x[2] the segment of
// each vertex, 0: none. x[3], E x 3 numbers, are the steps z, y, x from a vertex to the other end of an edge; without
// it the last E of (1, 0, 0), (0, 1, 0), (0, 0, 1). Edges that leave the image do not exist. y is the mean over images
// of
//     (loss of the pairs of a segment, for min(x[0], x[1])
//      + loss of the pairs of two segments, for max(x[0], x[1])) / 2
// so that a wrong affinity within a segment cannot be blamed on another segment, and vice versa.
//
// The gradient is that of y. OpenCL Caffe's is half as large, leaves out loss_weight and the division by N, and passes
// the gradient of min and max to x[0] where x[1] was chosen. A second top, a copy of x[0], is not supported. Values
// that are not valid make y NaN. On the host.

#include <algorithm>
#include <cmath>

#include "core/device/host_view.h"
#include "core/error.h"
#include "core/text/text.h"
#include "core/threads/threads.h"
#include "layers/common/losses/malis.h"
#include "layers/common/weights/kept_gradient.h"
#include "layers/registry.h"

namespace cortado {

namespace {

constexpr float kMaxMalisNumber = 1 << 24;  ///< of segments and steps

bool is_malis_number(float value) { return std::fabs(value) <= kMaxMalisNumber; }

class MalisLossLayer : public Layer {
 public:
  explicit MalisLossLayer(const LayerOptions&) {}

  LayerShapes infer(const std::vector<Shape>& x) override;
  LayerNeeds prepare(const PrepareRequest& request, Context&) override;
  void forward(Context& context, const Operands& io) override;

  void backward(Context& context, const Operands& io) override {
    if (io.dx[0]) scale_kept_gradient(context, io.saved[0], io.dy[0], io.dx[0]);
  }

  void validate(Context& context, const Operands& io) override {
    for (size_t i = 2; i < io.x.size(); ++i) {
      const HostView x(context, io.x[i].f32(), io.x[i].count());
      for (int64_t k = 0; k < io.x[i].count(); ++k)
        if (!is_malis_number(x.data()[k]))
          throw Error(ExitCode::kData,
                      to_text(x.data()[k]) + " in bottom[" + std::to_string(i) + "] is not a " +
                          (i == 2 ? "segment" : "step to a neighbour"),
                      "use whole numbers of at most " + to_text(kMaxMalisNumber));
    }
  }

  bool differentiable(int i) const override { return i == 0; }
  LayerRoles roles() override { return {.needs_host = true}; }
  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override { return 50 * x[0].count(); }

 private:
  struct Pass {
    MalisLoss loss;
    std::vector<float> affinities;
    std::vector<double> gradient;
    double value = 0;
  };

  bool set_steps(Context& context, const Operands& io);
  double run_image(Context& context, const float* x, const float* truth, const float* segments);

  MalisGrid grid_;
  int64_t images_ = 0;
  bool learns_ = false;
  Pass passes_[2];  ///< by MalisPairs
  std::vector<int32_t> segments_;
  std::vector<float> gradient_;
  HostStage stage_, saved_stage_;
};

LayerShapes MalisLossLayer::infer(const std::vector<Shape>& x) {
  const int axes = x[0].axes();
  if (axes < 3 || axes > 5 || x[0][1] == 0)
    throw FieldError("bottom[0]", "its shape is " + x[0].str() + ", but affinities must be N x E x (Z x) (Y x) X");
  if (x[1] != x[0]) throw FieldError("bottom[1]", "its shape is " + x[1].str() + ", but bottom[0] has " + x[0].str());
  const int64_t edges = x[0][1], vertices = x[0].count(2);
  if (vertices > INT32_MAX) throw FieldError("bottom[0]", "images of more than 2^31 vertices are too large");
  if (x[2].axes() < 1 || x[2][0] != x[0][0] || x[2].count() != x[0][0] * vertices)
    throw FieldError("bottom[2]", "its shape is " + x[2].str() + ", but bottom[0] has " + x[0].str(),
                     "segments need one number for each vertex");
  if (x.size() > 3 && x[3].count() != 3 * edges)
    throw FieldError("bottom[3]", "its shape is " + x[3].str() + ", but must have 3 numbers for each of " +
                                      count_of(edges, "edge", "edges"));
  if (x.size() == 3 && edges > 3)
    throw FieldError("bottom[0]", "it has " + std::to_string(edges) + " edges for each vertex",
                     "add a fourth bottom with the step to a neighbour for each");
  images_ = x[0][0];
  grid_.extents = {axes > 4 ? x[0][2] : 1, axes > 3 ? x[0][axes - 2] : 1, x[0][axes - 1]};
  grid_.edges.assign(size_t(edges), {0, 0, 0});
  for (size_t e = 0; x.size() == 3 && e < grid_.edges.size(); ++e) grid_.edges[e][3 - grid_.edges.size() + e] = 1;
  return {.y = {Shape()}, .w = {}};
}

LayerNeeds MalisLossLayer::prepare(const PrepareRequest& request, Context&) {
  const int64_t count = request.x[0].shape.count(), of_image = request.x[0].shape.count(1);
  for (Pass& pass : passes_) {
    pass.loss.reserve(grid_.vertices(), int64_t(grid_.edges.size()));
    pass.affinities.resize(size_t(of_image));
    pass.gradient.resize(size_t(of_image));
  }
  segments_.resize(size_t(grid_.vertices()));
  gradient_.resize(size_t(of_image));
  learns_ = request.backward;
  LayerNeeds needs;
  needs.saved = {learns_ ? count * int64_t(sizeof(float)) : 0};
  return needs;
}

/// Reads x[3]; false if it is not valid.
bool MalisLossLayer::set_steps(Context& context, const Operands& io) {
  if (io.x.size() < 4) return true;
  const HostView steps(context, io.x[3].f32(), io.x[3].count());
  for (size_t i = 0; i < 3 * grid_.edges.size(); ++i) {
    if (!is_malis_number(steps.data()[i])) return false;
    grid_.edges[i / 3][i % 3] = int64_t(steps.data()[i]);
  }
  return true;
}

/// The loss of one image; gradient_ becomes its derivative. Both are NaN for values that are not valid.
double MalisLossLayer::run_image(Context& context, const float* x, const float* truth, const float* segments) {
  bool valid = true;
  for (size_t i = 0; i < segments_.size(); ++i) {
    valid = valid && is_malis_number(segments[i]);
    segments_[i] = valid ? int32_t(segments[i]) : 0;
  }
  for (size_t i = 0; i < gradient_.size(); ++i) {
    valid = valid && !std::isnan(x[i]) && !std::isnan(truth[i]);
    passes_[0].affinities[i] = std::min(x[i], truth[i]);
    passes_[1].affinities[i] = std::max(x[i], truth[i]);
  }
  if (!valid) {
    std::fill(gradient_.begin(), gradient_.end(), NAN);
    return NAN;
  }
  parallel_ranges(context, 2, 1, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      Pass& pass = passes_[k];
      std::fill(pass.gradient.begin(), pass.gradient.end(), 0.0);
      pass.value = pass.loss.run(grid_, pass.affinities.data(), segments_.data(), MalisPairs(k), pass.gradient.data());
    }
  });
  for (size_t i = 0; i < gradient_.size(); ++i)
    gradient_[i] = float(
        0.5 * ((x[i] <= truth[i] ? passes_[0].gradient[i] : 0) + (x[i] >= truth[i] ? passes_[1].gradient[i] : 0)));
  return 0.5 * (passes_[0].value + passes_[1].value);
}

void MalisLossLayer::forward(Context& context, const Operands& io) {
  const HostView x(context, io.x[0].f32(), io.x[0].count()), truth(context, io.x[1].f32(), io.x[1].count()),
      segments(context, io.x[2].f32(), io.x[2].count());
  const bool valid = set_steps(context, io);
  const int64_t of_image = io.x[0].shape().count(1);
  float* saved = learns_ ? saved_stage_.begin(context, static_cast<float*>(io.saved[0]), io.x[0].count()) : nullptr;
  double sum = 0;
  for (int64_t n = 0; n < images_; ++n) {
    sum += run_image(context, x.data() + n * of_image, truth.data() + n * of_image,
                     segments.data() + n * grid_.vertices());
    for (int64_t i = 0; i < of_image && learns_; ++i) saved[n * of_image + i] = gradient_[size_t(i)] / float(images_);
  }
  *stage_.begin(context, io.y[0].f32(), 1) = !valid ? NAN : images_ > 0 ? float(sum / double(images_)) : 0;
  stage_.commit(context);
  if (learns_) saved_stage_.commit(context);
}

const RegisterLayer register_malis_loss({
    .name = "MalisLoss",
    .help = "the loss of affinities by the weakest edge between each pair of pixels (OpenCL Caffe)",
    .options = "",
    .min_bottoms = 3,
    .max_bottoms = 4,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<MalisLossLayer>,
    .loss = LossRole{},
});

}  // namespace

}  // namespace cortado
