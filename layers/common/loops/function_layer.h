#pragma once

// Layers without options that apply one function to each element. Such a layer is a struct with the members below, and
// its registration. For .cu files, like core/loops/for_each.h.
//   static constexpr BackwardReads kReads;         whether the slope is computed from x or y
//   static constexpr bool kKeepsZero;              as ElementwiseLayer::keeps_zero()
//   CORTADO_HD static float value(float x);        y
//   CORTADO_HD static float gradient(float dy, float v);  dx, from dy and the x or y that kReads names
//   static constexpr kernels::Activation::Kind kPostOp;  optional: the step that the previous layer can fuse

#include <string>

#include "layers/common/loops/elementwise.h"
#include "layers/common/loops/typed.h"

namespace cortado {

// Not shared between files, like the templates of typed.h.
namespace {

/// Functors of one such function, for each storage type.
template <typename Function>
struct FunctionOf {
  template <typename T>
  struct Forward {
    const T* x;
    T* y;
    using Arrays = ByPacks<In<&Forward::x>, Out<&Forward::y>>;
    CORTADO_HD void operator()(int64_t i) const { y[i] = Function::value(x[i]); }
  };

  template <typename T>
  struct Backward {
    const T* read;
    const T* dy;
    T* dx;
    using Arrays = ByPacks<In<&Backward::read>, In<&Backward::dy>, Out<&Backward::dx>>;
    CORTADO_HD void operator()(int64_t i) const { dx[i] = Function::gradient(dy[i], read[i]); }
  };
};

template <typename Function>
void apply_function(Context& context, const Operands& io) {
  for_each_typed<FunctionOf<Function>::template Forward>(context, io.x[0], io.y[0]);
}

template <typename Function>
void apply_gradient(Context& context, const Operands& io) {
  const Tensor& read = Function::kReads == BackwardReads::kX ? io.x[0] : io.y[0];
  for_each_typed<FunctionOf<Function>::template Backward>(context, read, io.dy[0], io.dx[0]);
}

template <typename Function>
class FunctionLayer : public ElementwiseLayer {
 public:
  explicit FunctionLayer(const LayerOptions&) {}

  BackwardReads backward_reads() const override { return Function::kReads; }
  bool keeps_zero() const override { return Function::kKeepsZero; }
  std::optional<kernels::PostOp> as_post_op() const override {
    if constexpr (requires { Function::kPostOp; }) return kernels::Activation{Function::kPostOp};
    return std::nullopt;
  }
  void forward(Context& context, const Operands& io) override { apply_function<Function>(context, io); }
  void backward(Context& context, const Operands& io) override { apply_gradient<Function>(context, io); }
};

/// The registration of such a layer. `options`: a field of LayerParameter that is accepted and has no effect.
template <typename Function>
LayerType function_type(const std::string& name, const std::string& help, const std::string& options = "",
                        LayerFamily family = LayerFamily::kActivation) {
  return elementwise_type<FunctionLayer<Function>>(name, help, options, family);
}

}  // namespace

}  // namespace cortado
