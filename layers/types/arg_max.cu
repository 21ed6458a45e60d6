// ArgMax: the indices of the top_k largest values, the largest first. As in Caffe, the higher index comes first among
// equal values. NaN is less than any number. The layer has no gradient.
//
// Without `axis` all axes after axis 0 are one list, and y is N x 1 x top_k (N x 2 x top_k with out_max_val: indices,
// then values), padded with axes of 1 if x has more than three. With `axis`, lists are along it, y has the extent top_k
// there, and out_max_val replaces the indices by the values.

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/loops/typed.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"

namespace cortado {

namespace {

/// The output of list l: up to two runs of top_k, with stride `inner` within a run.
template <typename T>
struct ArgMaxForward {
  const T* x;
  float *indices, *values;  ///< null if not needed
  int64_t length, inner, top_k;
  int64_t pitch;  ///< stride from the runs of one block of `inner` lists to the next

  CORTADO_HD float at(const T* list, int64_t i) const {
    const float v = list[i * inner];
    return v == v ? v : -INFINITY;
  }
  /// The best value that comes after `last` in the order.
  CORTADO_HD int64_t next(const T* list, int64_t last) const {
    int64_t best = -1;
    for (int64_t i = 0; i < length; ++i) {
      if (i == last) continue;
      const float v = at(list, i);
      const bool left = last < 0 || v < at(list, last) || (v == at(list, last) && i < last);
      if (left && (best < 0 || v >= at(list, best))) best = i;
    }
    return best;
  }
  CORTADO_HD void operator()(int64_t l) const {
    const int64_t block = l / inner, place = l % inner;
    const T* list = x + block * length * inner + place;
    int64_t last = -1;
    for (int64_t k = 0; k < top_k; ++k) {
      last = next(list, last);
      const int64_t to = block * pitch + k * inner + place;
      if (indices) indices[to] = float(last);
      if (values) values[to] = list[last * inner];
    }
  }
};

class ArgMaxLayer : public Layer {
 public:
  explicit ArgMaxLayer(const LayerOptions& options) : param_(options.config.argmax_param()) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    require_axes(x[0], 1);
    const int axis = param_.has_axis() ? axis_of(x[0], param_.axis(), "argmax_param.axis") : 1;
    lists_ = param_.has_axis() ? checked_mul(x[0].count(0, axis), x[0].count(axis + 1)) : x[0][0];
    length_ = param_.has_axis() ? x[0][axis] : x[0].count(1);
    inner_ = param_.has_axis() ? x[0].count(axis + 1) : 1;
    const int64_t top_k = param_.top_k();
    if (top_k < 1 || top_k > length_)
      throw FieldError("argmax_param.top_k", "top_k is " + std::to_string(top_k) + ", but must lie between 1 and the " +
                                                 count_of(length_, "value", "values") + " of each list");
    return {.y = {shape_of_y(x[0], axis)}, .w = {}};
  }

  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kReads}; }

  LayerNeeds prepare(const PrepareRequest&, Context&) override { return {}; }

  void forward(Context& context, const Operands& io) override {
    if (lists_ == 0) return;
    float* y = io.y[0].f32();
    const int64_t top_k = param_.top_k();
    const bool both = param_.out_max_val() && !param_.has_axis();
    float *indices = both || !param_.out_max_val() ? y : nullptr, *values = nullptr;
    if (param_.out_max_val()) values = both ? y + top_k : y;
    const int64_t pitch = (both ? 2 : 1) * top_k * inner_;
    const auto run = [&](const auto& functor) { for_each(context, lists_, functor); };
    with_functor<ArgMaxForward>(run, io.x[0], indices, values, length_, inner_, top_k, pitch);
  }

  bool differentiable(int) const override { return false; }

  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override {
    return checked_mul(x[0].count(), param_.top_k());
  }

 private:
  Shape shape_of_y(const Shape& x, int axis) const {
    if (param_.has_axis()) {
      Shape y = x;
      y[axis] = param_.top_k();
      return y;
    }
    Shape y(std::vector<int64_t>(size_t(std::max(3, x.axes())), 1));
    y[0] = x[0];
    y[1] = param_.out_max_val() ? 2 : 1;
    y[2] = param_.top_k();
    return y;
  }

  const caffe::ArgMaxParameter& param_;
  int64_t lists_ = 0, length_ = 0, inner_ = 1;
};

const RegisterLayer register_arg_max({
    .name = "ArgMax",
    .help = "the indices (or values) of the largest values",
    .options = "argmax_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<ArgMaxLayer>,
    .family = LayerFamily::kScore,
});

}  // namespace

}  // namespace cortado
