#pragma once

// Arithmetic over tensors of any floating-point type. A functor is a template over the type T that values are stored in
// (float, Half, BFloat16), reads them as floats and computes in float:
//   template <typename T>
//   struct Twice {
//     const T* x;
//     T* y;
//     CORTADO_HD void operator()(int64_t i) const { y[i] = 2 * float(x[i]); }
//   };
//   for_each_typed<Twice>(context, io.x[0], io.y[0]);
// Its members are passed in order; a Tensor becomes a T*, anything else is passed unchanged. All tensors have the type
// of the first. For .cu files, like core/loops/for_each.h.

#include <type_traits>

#include "core/half.h"
#include "core/loops/for_each.h"

namespace cortado {

// Not shared between files: GCC 12 merges functions of two files if their local functors have the same name.
namespace {

template <typename T, typename Member>
auto member_of(const Member& member) {
  if constexpr (std::is_same_v<Member, Tensor>)
    return member.template as<T>();
  else
    return member;
}

/// use(Functor<T>{...}) with the T of `first`.
template <template <typename> class Functor, typename Use, typename... Members>
void with_functor(const Use& use, const Tensor& first, const Members&... rest) {
  with_float_type(first.spec.dtype, [&](auto zero) {
    using T = decltype(zero);
    use(Functor<T>{first.as<T>(), member_of<T>(rest)...});
  });
}

/// for_each over the stored elements of `first`.
template <template <typename> class Functor, typename... Members>
void for_each_typed(Context& context, const Tensor& first, const Members&... rest) {
  with_functor<Functor>([&](const auto& functor) { for_each(context, first.spec.elements(), functor); }, first,
                        rest...);
}

template <template <typename> class Functor, typename... Members>
void for_each_channel_typed(Context& context, const ChannelView& view, const Tensor& first, const Members&... rest) {
  with_functor<Functor>([&](const auto& functor) { for_each_channel(context, view, functor); }, first, rest...);
}

/// Fills y with `value`.
template <typename T>
struct Constant {
  T* y;
  float value;
  CORTADO_HD void operator()(int64_t i) const { y[i] = value; }
};

}  // namespace

}  // namespace cortado
