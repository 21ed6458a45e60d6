#include "core/device/device_memory.h"
#include "core/loops/for_each.h"

namespace cortado {

namespace {

struct PutWord {
  uint64_t* to;
  uint64_t value;
  CORTADO_HD void operator()(int64_t) const { *to = value; }
};

}  // namespace

void put_on_device(Context& context, uint64_t* to, uint64_t value) { for_each(context, 1, PutWord{to, value}); }

}  // namespace cortado
