#include "core/loops/for_each.h"
#include "ranks/shard_sums.h"

namespace cortado::ranks {

namespace {

struct Add {
  float* to;
  const float* from;
  using Arrays = ByPacks<InOut<&Add::to>, In<&Add::from>>;
  CORTADO_HD void operator()(int64_t i) const { to[i] += from[i]; }
};

struct Copy {
  float* to;
  const float* from;
  using Arrays = ByPacks<Out<&Copy::to>, In<&Copy::from>>;
  CORTADO_HD void operator()(int64_t i) const { to[i] = from[i]; }
};

}  // namespace

void add_floats(Context& context, float* to, const float* from, int64_t n) { for_each(context, n, Add{to, from}); }

void copy_floats(Context& context, float* to, const float* from, int64_t n) { for_each(context, n, Copy{to, from}); }

}  // namespace cortado::ranks
