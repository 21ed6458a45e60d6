#include "layers/common/detection/box_offsets.h"

#include <algorithm>

#include "core/error.h"
#include "core/text/text.h"

namespace cortado {

OffsetScale offset_scale(const google::protobuf::RepeatedField<float>& means,
                         const google::protobuf::RepeatedField<float>& deviations, const std::string& field) {
  OffsetScale scale;
  if (means.empty() && deviations.empty()) return scale;
  const auto require_four = [&](int count, const std::string& name) {
    if (count != 4)
      throw FieldError(count > 0 ? field + "." + name : field,
                       name + " is set " + count_of(count, "time", "times") + ", not four",
                       "set bbox_mean and bbox_std for x, y, width and height");
  };
  require_four(means.size(), "bbox_mean");
  require_four(deviations.size(), "bbox_std");
  for (int i = 0; i < 4; ++i) {
    if (!std::isfinite(means[i])) throw FieldError(field + ".bbox_mean", "a mean is " + to_text(means[i]));
    if (!(deviations[i] > 0 && std::isfinite(deviations[i])))
      throw FieldError(field + ".bbox_std", "a deviation is " + to_text(deviations[i]) + ", but must be above 0",
                       "set the standard deviation of the offsets");
  }
  std::copy(means.begin(), means.end(), scale.mean);
  std::copy(deviations.begin(), deviations.end(), scale.deviation);
  return scale;
}

}  // namespace cortado
