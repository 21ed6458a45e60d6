#pragma once

// The terms of losses of boxes encoded relative to templates (common/detection/template_field.h). The values of a
// position are `apart` values from each other.

#include <cstdint>

#include "layers/common/detection/template_field.h"
#include "layers/common/losses/branch_labels.h"

namespace cortado {

/// -weight log(max(p, FLT_MIN)), p being the softmax of the label's score. Writes its gradient, unless null.
double softmax_term(const float* x, int64_t apart, int64_t classes, int64_t label, float weight, float* gradient);

inline BoxOffsets offsets_at(const float* x, int64_t apart) { return {x[0], x[apart], x[2 * apart], x[3 * apart]}; }

/// The normalized offsets, within the limits of boxes. As in MS-CNN, the limits use the mean of both means and the
/// geometric mean of both deviations.
BoxOffsets limited_offsets(const TemplateField& field, const OffsetScale& scale, const BoxOffsets& o);

/// The normalized offsets of the object of a position of a branch that is `width` positions wide.
BoxOffsets wanted_offsets(const TemplateField& field, const OffsetScale& scale, const BranchLabels& labels, int64_t n,
                          int64_t p, int64_t width);

/// The sum of f(t - g) over the four numbers; f(d) = d^2 / 2, with `smooth` only if |d| < 1, else |d| - 1/2. Writes its
/// gradient.
double box_term(const BoxOffsets& t, const BoxOffsets& g, bool smooth, float* gradient, int64_t apart);

}  // namespace cortado
