#pragma once

// Labels that name classes, as loss layers read them: whole numbers below the number of classes, one for each row of
// predictions. Functors ask valid(), and make the loss NaN where a label is none; the host finds the one to blame.

#include <cmath>
#include <string>

#include "core/context.h"
#include "core/host_device.h"
#include "core/tensor.h"

namespace cortado {

struct ClassLabels {
  const float* values;
  int64_t classes;
  bool ignores = false;
  float ignored = 0;

  CORTADO_HD bool counts(int64_t row) const { return !(ignores && values[row] == ignored); }
  CORTADO_HD bool valid(int64_t row) const {
    const float v = values[row];
    return v >= 0 && v < float(classes) && v == floorf(v);
  }
};

/// Throws FieldError for bottom[1] unless `labels` holds one for each of `rows` predictions in x.
void require_labels(const Shape& x, const Shape& labels, int64_t rows);

/// Throws Error(kData) at the first label that counts and is no class. The values lie in the host's memory; an item has
/// `inner` rows. `advice` ends the hint.
void check_labels(const ClassLabels& labels, int64_t rows, int64_t inner = 1, const char* advice = "");

/// check_labels() of a copy of `values`, which may lie on a device.
void explain_labels(Context& context, const Tensor& values, ClassLabels labels, int64_t inner = 1,
                    const char* advice = "");

}  // namespace cortado
