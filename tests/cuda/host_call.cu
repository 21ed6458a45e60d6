// A functor that, with CALLS_HOST, calls a function of the host: it must not compile then, and must compile without.

#include <string>

#include "core/loops/for_each.h"

namespace cortado {

int length_of(int64_t i) { return int(std::to_string(i).size()); }

template <typename T>
struct Lengths {
  T* y;
  CORTADO_HD void operator()(int64_t i) const {
#ifdef CALLS_HOST
    y[i] = T(length_of(i));
#else
    y[i] = T(i);
#endif
  }
};

void fill_lengths(Context& context, int64_t n, float* y) { for_each(context, n, Lengths<float>{y}); }

}  // namespace cortado
