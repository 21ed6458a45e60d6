#pragma once

// Cascade R-CNN's branches, which have several templates at each position (common/template_field.h). A bottom that
// lists them as images, N x G of them for G templates of N images, comes from a Reshape.

#include <cstdint>
#include <string>
#include <vector>

#include "core/shape.h"
#include "layers/common/detection/template_field.h"

namespace cortado {

/// From field_w, field_h and stride of the message `group`. field_whr and field_xyr are of the message `field`. Throws
/// FieldError.
template <typename Group, typename Param>
std::vector<TemplateField> template_group(const Group& group, const std::string& group_field, const Param& param,
                                          const std::string& field) {
  std::vector<TemplateField> fields;
  if (group.field_w_size() == 0)
    throw FieldError(group_field + ".field_w", "it is missing", "set field_w and field_h once for each template");
  if (group.field_h_size() != group.field_w_size())
    throw FieldError(group_field + ".field_h",
                     "it is set " + count_of(group.field_h_size(), "time", "times") + ", but field_w " +
                         count_of(group.field_w_size(), "time", "times"),
                     "set field_w and field_h once for each template");
  for (int k = 0; k < group.field_w_size(); ++k) {
    fields.push_back({float(group.field_w(k)), float(group.field_h(k)), float(group.stride()), param.field_whr(),
                      param.field_xyr()});
    fields.back().check_template(group_field, "stride");
    fields.back().check_limits(field);
  }
  return fields;
}

/// The number of images in a bottom of N x G images. Throws FieldError(entry("bottom", i)).
int64_t images_of_group(const Shape& x, int64_t i, int64_t templates);

}  // namespace cortado
