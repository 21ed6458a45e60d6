// Filter: the rows (samples, along axis 0) of the first bottoms for which the last bottom, the selector, is not 0, in
// order. forward() counts them; on a device this waits for the selector. y starts with these rows, then zeros
// (live_rows.h). Dropped rows get no gradient; neither does the selector.

#include "core/device/device_memory.h"
#include "core/error.h"
#include "core/loops/for_each.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"
#include "layers/roles.h"

namespace cortado {

namespace {

/// Row r of y is row chosen[r] of x.
struct FilterGather {
  const float* x;
  float* y;
  const int64_t* chosen;
  int64_t width;
  CORTADO_HD void operator()(int64_t i, int64_t r) const { y[i] = x[(chosen[r] - r) * width + i]; }
};

/// Row r of x is row places[r] of y, or dropped (-1).
struct Scatter {
  const float* dy;
  float* dx;
  const int64_t* places;
  int64_t width;
  CORTADO_HD void operator()(int64_t i, int64_t r) const {
    dx[i] = places[r] < 0 ? 0 : dy[(places[r] - r) * width + i];
  }
};

class FilterLayer : public Layer, public DynamicRows {
 public:
  explicit FilterLayer(const LayerOptions& options) : tops_(size_t(options.config.top_size())) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    if (x.size() != tops_ + 1)
      throw FieldError("top",
                       "the layer has " + std::to_string(x.size()) + " bottoms and " + std::to_string(tops_) + " tops",
                       "give each bottom except the last, the selector, one top");
    const Shape& selector = x.back();
    require_axes(selector, 1);
    const std::string last = "bottom[" + std::to_string(tops_) + "]";
    if (selector.count(1) != 1)
      throw FieldError(last, "the selector's shape is " + selector.str(), "the selector needs one value for each row");
    for (size_t i = 0; i < tops_; ++i)
      if (x[i].axes() < 1 || x[i][0] != selector[0])
        throw FieldError(
            "bottom[" + std::to_string(i) + "]",
            "its shape is " + x[i].str() + ", but the selector has " + std::to_string(selector[0]) + " values",
            "the selector needs one value for each row");
    rows_ = live_ = selector[0];
    most_ = {x.begin(), x.end() - 1};
    return {.y = most_, .w = {}};
  }

  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    host_.resize(size_t(2 * rows_));
    LayerNeeds needs;
    needs.saved = {2 * rows_ * int64_t(sizeof(int64_t))};
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    select(context, io.x.back());
    int64_t* chosen = static_cast<int64_t*>(io.saved[0]);
    copy_to_device(context, chosen, host_.data(), host_.size() * sizeof(int64_t));
    for (size_t i = 0; i < tops_; ++i) {
      for_each_channel(context, rows(live_, i), FilterGather{io.x[i].f32(), io.y[i].f32(), chosen, width(i)});
      clear_on_device(context, io.y[i].f32() + live_ * width(i), size_t((rows_ - live_) * width(i)) * sizeof(float));
    }
  }

  void backward(Context& context, const Operands& io) override {
    const int64_t* places = static_cast<const int64_t*>(io.saved[0]) + rows_;
    for (size_t i = 0; i < tops_; ++i) {
      if (!io.dx[i]) continue;
      if (io.dy[i])
        for_each_channel(context, rows(rows_, i), Scatter{io.dy[i].f32(), io.dx[i].f32(), places, width(i)});
      else
        clear_on_device(context, io.dx[i].data, size_t(io.dx[i].spec.bytes()));
    }
  }

  bool differentiable(int i) const override { return size_t(i) < tops_; }
  LayerRoles roles() override { return {.needs_host = true, .rows = this}; }

  std::vector<Shape> current_shapes() const override {
    std::vector<Shape> shapes = most_;
    for (Shape& shape : shapes) shape[0] = live_;
    return shapes;
  }

 private:
  int64_t width(size_t i) const { return most_[i].count(1); }
  ChannelView rows(int64_t count, size_t i) const { return {1, count, width(i), Layout::kPlain}; }

  /// The selected rows of x, then for each row of x its index in y.
  void select(Context& context, const Tensor& selector) {
    std::vector<float>& values = selector_;
    values.resize(size_t(rows_));
    copy_to_host(context, values.data(), selector.data, values.size() * sizeof(float));
    live_ = 0;
    for (int64_t r = 0; r < rows_; ++r) {
      const bool chosen = values[size_t(r)] != 0;
      host_[size_t(rows_ + r)] = chosen ? live_ : -1;
      if (chosen) host_[size_t(live_++)] = r;
    }
  }

  size_t tops_;
  int64_t rows_ = 0, live_ = 0;
  std::vector<Shape> most_;
  std::vector<int64_t> host_;
  std::vector<float> selector_;
};

const RegisterLayer register_filter({
    .name = "Filter",
    .help = "the samples for which the last bottom is not 0",
    .options = "",
    .min_bottoms = 2,
    .max_bottoms = -1,
    .min_tops = 1,
    .max_tops = -1,
    .make = make_layer<FilterLayer>,
});

}  // namespace

}  // namespace cortado
