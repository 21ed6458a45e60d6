#include "layers/common/class_weights.h"

#include <cmath>

#include "core/error.h"
#include "core/format.h"

namespace cortado {

void ClassWeights::check(int64_t classes) const {
  const std::string field = "loss_param.class_weight";
  const int64_t have = int64_t(values_.size());
  if (given() && have != classes)
    throw FieldError(miscounted(field, have, classes),
                     count_of(have, "weight", "weights") + " for " + count_of(classes, "class", "classes"),
                     "write one for each class");
  for (size_t i = 0; i < values_.size(); ++i)
    if (!(values_[i] >= 0 && std::isfinite(values_[i])))
      throw FieldError(entry(field, int64_t(i)), "a weight of " + to_text(values_[i]) + " does not count samples",
                       "0 leaves a class out, 1 counts it as usual");
}

void ClassWeights::place(Context& context) {
  if (!given()) return;
  placed_ = DeviceMemory(context, values_.size() * sizeof(float));
  copy_to_device(context, placed_.data(), values_.data(), values_.size() * sizeof(float));
}

}  // namespace cortado
