#pragma once

// Converts values between float types. For .cu files.

#include "core/loops/for_each.h"

namespace cortado::kernels {

template <typename From, typename To>
struct Cast {
  const From* from;
  To* to;
  using Arrays = ByPacks<In<&Cast::from>, Out<&Cast::to>>;
  CORTADO_HD void operator()(int64_t i) const { to[i] = To(float(from[i])); }
};

}  // namespace cortado::kernels
