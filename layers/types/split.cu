// Split: every top is the bottom's memory. Backward sums those gradients of the tops that arrive, in order. A pass
// inserts one after every value with several readers.

#include "layers/common/fusion_kinds.h"
#include "layers/common/loops/copies.h"
#include "layers/registry.h"
#include "layers/type_names.h"

namespace cortado {

namespace {

constexpr int kMaxTerms = 4;

/// to = the sum of `Terms` tensors in one pass over memory.
template <typename T, int Terms>
struct SumOf {
  const T* from[Terms];
  T* to;
  Traffic traffic(int64_t n) const { return {Terms * n * int64_t(sizeof(T)), n * int64_t(sizeof(T))}; }
  CORTADO_HD void operator()(int64_t i) const {
    float sum = from[0][i];
    for (int k = 1; k < Terms; ++k) sum += float(from[k][i]);
    to[i] = sum;
  }
};

/// The usual case.
template <typename T>
struct SumOfTwo {
  const T *a, *b;
  T* to;
  using Arrays = ByPacks<In<&SumOfTwo::a>, In<&SumOfTwo::b>, Out<&SumOfTwo::to>>;
  CORTADO_HD void operator()(int64_t i) const { to[i] = float(a[i]) + float(b[i]); }
};

void sum_two(Context& context, const void* const* from, const Tensor& to) {
  with_float_type(to.spec.dtype, [&](auto zero) {
    using T = decltype(zero);
    const SumOfTwo<T> functor{static_cast<const T*>(from[0]), static_cast<const T*>(from[1]), to.as<T>()};
    for_each(context, to.spec.elements(), functor);
  });
}

template <int Terms>
void sum_of(Context& context, const void* const* from, const Tensor& to) {
  with_float_type(to.spec.dtype, [&](auto zero) {
    using T = decltype(zero);
    SumOf<T, Terms> functor{{}, to.as<T>()};
    for (int k = 0; k < Terms; ++k) functor.from[k] = static_cast<const T*>(from[k]);
    for_each(context, to.spec.elements(), functor);
  });
}

/// The sum of one to kMaxTerms tensors of the type of `to`.
void sum_group(Context& context, const void* const* from, int terms, const Tensor& to) {
  switch (terms) {
    case 1:
      return sum_of<1>(context, from, to);
    case 2:
      return sum_two(context, from, to);
    case 3:
      return sum_of<3>(context, from, to);
    default:
      return sum_of<kMaxTerms>(context, from, to);
  }
}

class SplitLayer : public Layer {
 public:
  explicit SplitLayer(const LayerOptions& options) : tops_(size_t(options.config.top_size())) {}

  LayerShapes infer(const std::vector<Shape>& x) override { return {.y = std::vector<Shape>(tops_, x[0]), .w = {}}; }

  StorageRule storage(const kernels::PostOps&) const override {
    return {.layout = LayoutRule::kFollow, .type = TypeRule::kFollow};
  }

  std::vector<Fusion> fusions(const FusionQuery&) const override { return {Fusion::reader(kGradientParts)}; }
  LayerRoles roles() override { return {.views_x = true}; }

  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    LayerNeeds needs;
    needs.aliasing.view = true;
    needs.aliasing.dx_may_overwrite_dy = true;
    return needs;
  }

  void forward(Context&, const Operands&) override {}

  void backward(Context& context, const Operands& io) override {
    const void* from[kMaxTerms];
    int terms = 0;
    for (const Tensor& dy : io.dy) {
      if (!dy) continue;
      if (terms == kMaxTerms) {
        sum_group(context, from, terms, io.dx[0]);
        from[0] = io.dx[0].data;
        terms = 1;
      }
      from[terms++] = dy.data;
    }
    if (terms == 0) return clear_values(context, io.dx[0]);
    sum_group(context, from, terms, io.dx[0]);
  }

 private:
  size_t tops_;
};

const RegisterLayer register_split({
    .name = type_names::kSplit,
    .help = "passes one tensor to several readers",
    .options = "split_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = -1,
    .make = make_layer<SplitLayer>,
    .family = LayerFamily::kCombine,
});

}  // namespace

}  // namespace cortado
