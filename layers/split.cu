// Split: every top is the bottom's own memory; backward sums the tops' gradients, as many as arrive, in their order.
// A pass puts one behind every value with several readers.

#include <algorithm>

#include "core/for_each.h"
#include "layers/registry.h"

namespace cortado {

namespace {

constexpr int kMostTerms = 4;

/// to = the sum of `Terms` tensors in one pass over memory.
template <int Terms>
struct SumOf {
  const float* from[Terms];
  float* to;
  CORTADO_HD void operator()(int64_t i) const {
    float sum = from[0][i];
    for (int k = 1; k < Terms; ++k) sum += from[k][i];
    to[i] = sum;
  }
};

template <int Terms>
void sum_of(Context& context, int64_t n, const float* const* from, float* to) {
  SumOf<Terms> functor{{}, to};
  std::copy(from, from + Terms, functor.from);
  for_each(context, n, functor);
}

/// The sum of one to kMostTerms tensors.
void sum_group(Context& context, int64_t n, const float* const* from, int terms, float* to) {
  switch (terms) {
    case 1:
      return sum_of<1>(context, n, from, to);
    case 2:
      return sum_of<2>(context, n, from, to);
    case 3:
      return sum_of<3>(context, n, from, to);
    default:
      return sum_of<kMostTerms>(context, n, from, to);
  }
}

struct Clear {
  float* to;
  CORTADO_HD void operator()(int64_t i) const { to[i] = 0; }
};

class SplitLayer : public Layer {
 public:
  explicit SplitLayer(const LayerOptions& options) : tops_(size_t(options.config.top_size())) {}

  LayerShapes infer(const std::vector<Shape>& x) override { return {.y = std::vector<Shape>(tops_, x[0]), .w = {}}; }

  LayoutRule layouts() const override { return LayoutRule::kFollow; }

  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    LayerNeeds needs;
    needs.y_is_x = true;
    needs.dx_may_overwrite_dy = true;
    return needs;
  }

  void forward(Context&, const Operands&) override {}

  void backward(Context& context, const Operands& io) override {
    const int64_t n = io.dx[0].spec.elements();
    float* dx = io.dx[0].f32();
    const float* from[kMostTerms];
    int terms = 0;
    for (const Tensor& dy : io.dy) {
      if (!dy) continue;
      if (terms == kMostTerms) {
        sum_group(context, n, from, terms, dx);
        from[0] = dx;
        terms = 1;
      }
      from[terms++] = dy.f32();
    }
    if (terms == 0) return for_each(context, n, Clear{dx});
    sum_group(context, n, from, terms, dx);
  }

 private:
  size_t tops_;
};

const RegisterLayer registered({
    .name = "Split",
    .help = "hands one tensor to several readers",
    .options = "split_param",
    .least_x = 1,
    .most_x = 1,
    .least_y = 1,
    .most_y = -1,
    .make = make_layer<SplitLayer>,
});

}  // namespace

}  // namespace cortado
