// Transpose: y has the axes of x in the order of transpose_param.dim, which must name all of them, as in CTPN's fork.
// Permute is the same, and allows omitting the last ones.

#include <algorithm>

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/loops/permutation.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"

namespace cortado {

namespace {

class TransposeLayer : public PermutingLayer {
 public:
  explicit TransposeLayer(const LayerOptions& options) : param_(options.config.transpose_param()) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    if (param_.dim_size() != x[0].axes())
      throw FieldError(param_.dim_size() ? "transpose_param.dim[0]" : "transpose_param",
                       "dim names " + count_of(param_.dim_size(), "axis", "axes") + ", but bottom[0] is " + x[0].str() +
                           ": it has " + std::to_string(x[0].axes()),
                       "name each axis of the bottom once, in the order of the top");
    std::vector<int> order;
    Shape y = x[0];
    for (int k = 0; k < param_.dim_size(); ++k) {
      const std::string field = entry("transpose_param.dim", k);
      const int axis = axis_of(x[0], param_.dim(k), field);
      if (std::find(order.begin(), order.end(), axis) != order.end())
        throw FieldError(field, "axis " + std::to_string(axis) + " is named twice", "name each axis once");
      order.push_back(axis);
      y[k] = x[0][axis];
    }
    permute(Permutation(x[0], order));
    return {.y = {y}, .w = {}};
  }

 private:
  const caffe::TransposeParameter& param_;
};

const RegisterLayer register_transpose({
    .name = "Transpose",
    .help = "the axes in another order, all of them named",
    .options = "transpose_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<TransposeLayer>,
});

}  // namespace

}  // namespace cortado
