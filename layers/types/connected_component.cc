// ConnectedComponent (OpenCL Caffe): numbers the connected components of label images, the segments that MalisLoss
// reads. In each plane of x, pixels of the same label that touch at a side belong to one component. Label 0 is the
// background and stays 0. Components are numbered in the order of their first pixels, from the plane's largest label
// + 1 on. Fractions of labels are dropped. A value that is not a label, such as NaN, is an error; y is NaN there. On
// the host, without a gradient.

#include <cmath>

#include "core/device/host_view.h"
#include "core/error.h"
#include "core/text/text.h"
#include "layers/registry.h"

namespace cortado {

namespace {

constexpr float kMaxComponentLabel = 1 << 23;  ///< floats represent the numbers of components after it

bool is_component_label(float value) { return std::fabs(value) <= kMaxComponentLabel; }

class ConnectedComponentLayer : public Layer {
 public:
  explicit ConnectedComponentLayer(const LayerOptions&) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    if (x[0].axes() != 4)
      throw FieldError("bottom[0]", "its shape is " + x[0].str() + "; ConnectedComponent needs N x C x H x W");
    if (x[0].count(2) > int64_t(kMaxComponentLabel))
      throw FieldError("bottom[0]", "its shape is " + x[0].str() + "; planes of more than 2^23 pixels are too large");
    return {.y = {x[0]}, .w = {}};
  }

  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    labels_.resize(size_t(request.x[0].shape.count(2)));
    open_.reserve(labels_.size());
    return {};
  }

  void forward(Context& context, const Operands& io) override {
    const HostView x(context, io.x[0].f32(), io.x[0].count());
    float* y = staged_.begin(context, io.y[0].f32(), io.y[0].count());
    const Shape& shape = io.x[0].shape();
    const int64_t plane = shape.count(2);
    for (int64_t p = 0; p < shape.count(0, 2); ++p) number(x.data() + p * plane, shape[2], shape[3], y + p * plane);
    staged_.commit(context);
  }

  void validate(Context& context, const Operands& io) override {
    const HostView x(context, io.x[0].f32(), io.x[0].count());
    for (int64_t i = 0; i < io.x[0].count(); ++i)
      if (!is_component_label(x.data()[i]))
        throw Error(ExitCode::kData, to_text(x.data()[i]) + " in bottom[0] is not a label",
                    "labels are whole numbers up to " + to_text(kMaxComponentLabel) + "; 0 is the background");
  }

  bool differentiable(int) const override { return false; }
  LayerRoles roles() override { return {.needs_host = true}; }

 private:
  void number(const float* x, int64_t height, int64_t width, float* y) {
    int32_t next = 1;
    for (size_t i = 0; i < labels_.size(); ++i) {
      labels_[i] = is_component_label(x[i]) ? int32_t(x[i]) : 0;
      y[i] = is_component_label(x[i]) ? 0 : NAN;
      next = std::max(next, labels_[i] + 1);
    }
    for (int64_t i = 0; i < height * width; ++i)
      if (labels_[size_t(i)] != 0) fill(i, height, width, float(next++), y);
  }

  /// Numbers the component of pixel `first` and removes its labels.
  void fill(int64_t first, int64_t height, int64_t width, float number, float* y) {
    const int32_t label = labels_[size_t(first)];
    const auto visit = [&](int64_t i) {
      if (labels_[size_t(i)] != label) return;
      labels_[size_t(i)] = 0;
      y[i] = number;
      open_.push_back(i);
    };
    visit(first);
    while (!open_.empty()) {
      const int64_t i = open_.back(), h = i / width, w = i % width;
      open_.pop_back();
      if (h > 0) visit(i - width);
      if (h + 1 < height) visit(i + width);
      if (w > 0) visit(i - 1);
      if (w + 1 < width) visit(i + 1);
    }
  }

  std::vector<int32_t> labels_;  ///< of one plane; 0: background, or numbered already
  std::vector<int64_t> open_;    ///< numbered pixels whose neighbours are not visited yet
  HostStage staged_;
};

const RegisterLayer register_connected_component({
    .name = "ConnectedComponent",
    .help = "numbers the connected components of label images (OpenCL Caffe)",
    .options = "",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<ConnectedComponentLayer>,
});

}  // namespace

}  // namespace cortado
