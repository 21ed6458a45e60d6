#include "kernels/cpu/as_floats/as_floats.h"

#include <algorithm>

#include "core/threads/threads.h"
#include "kernels/cpu/bfloat16.h"

namespace cortado::kernels {

namespace {

constexpr int64_t kWorthAThread = 1 << 15;

/// Converts n values, 16 at a time.
template <typename From, typename To>
void convert(Context& context, int64_t n, const From* from, To* to) {
  parallel_ranges(context, (n + kLanes - 1) / kLanes, kWorthAThread / kLanes, [&](int64_t begin, int64_t end) {
    const int64_t last = std::min(n, end * kLanes);
    int64_t i = begin * kLanes;
    for (; i + kLanes <= last; i += kLanes) store(to + i, load(from + i));
    if (i < last) store_some(to + i, load_some(from + i, int(last - i)), int(last - i));
  });
}

}  // namespace

float* FloatCopy::load(Context& context, const void* values, void* scratch) const {
  convert(context, elements_, static_cast<const BFloat16*>(values), target(scratch));
  return target(scratch);
}

void FloatCopy::store(Context& context, void* scratch, void* values) const {
  convert(context, elements_, target(scratch), static_cast<BFloat16*>(values));
}

}  // namespace cortado::kernels
