// Permute: y has the axes of x in the order of permute_param; the axes that it omits follow in their old order.

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/loops/permutation.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"

namespace cortado {

namespace {

class PermuteLayer : public PermutingLayer {
 public:
  explicit PermuteLayer(const LayerOptions& options) : param_(options.config.permute_param()) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    const std::vector<int> order = order_of(x[0]);
    Shape y = x[0];
    for (size_t k = 0; k < order.size(); ++k) y[int(k)] = x[0][order[k]];
    permute(Permutation(x[0], order));
    return {.y = {y}, .w = {}};
  }

  void check_without_shapes() const override {
    std::set<uint32_t> axes;
    for (int i = 0; i < param_.order_size(); ++i)
      if (!axes.insert(param_.order(i)).second)
        throw FieldError(entry("permute_param.order", i),
                         "axis " + std::to_string(param_.order(i)) + " is listed twice", "list each axis once");
  }

 private:
  /// All axes of x, each once. Throws FieldError.
  std::vector<int> order_of(const Shape& x) const {
    check_without_shapes();
    std::vector<int> order;
    const auto named = [&](int axis) { return std::find(order.begin(), order.end(), axis) != order.end(); };
    for (int i = 0; i < param_.order_size(); ++i) {
      const std::string field = entry("permute_param.order", i);
      const int axis = axis_of(x, param_.order(i), field);
      order.push_back(axis);
    }
    for (int axis = 0; axis < x.axes(); ++axis)
      if (!named(axis)) order.push_back(axis);
    return order;
  }

  const caffe::PermuteParameter& param_;
};

const RegisterLayer register_permute({
    .name = "Permute",
    .help = "the axes in another order",
    .options = "permute_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<PermuteLayer>,
});

}  // namespace

}  // namespace cortado
