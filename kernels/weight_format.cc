#include "kernels/weight_format.h"

#include <algorithm>

namespace cortado::kernels {

int64_t WeightFormat::bytes() const { return opaque_ ? opaque_->bytes() : shape_.count() * int64_t(sizeof(float)); }

bool WeightFormat::operator==(const WeightFormat& other) const {
  if (shape_ != other.shape_) return false;
  if (is_plain() || other.is_plain()) return is_plain() == other.is_plain();
  return opaque_->equals(*other.opaque_);
}

void WeightFormat::to_plain(Context& context, const void* stored, float* plain) const {
  if (opaque_) return opaque_->to_plain(context, stored, plain);
  std::copy_n(static_cast<const float*>(stored), shape_.count(), plain);
}

void WeightFormat::from_plain(Context& context, const float* plain, void* stored) const {
  if (opaque_) return opaque_->from_plain(context, plain, stored);
  std::copy_n(plain, shape_.count(), static_cast<float*>(stored));
}

}  // namespace cortado::kernels
