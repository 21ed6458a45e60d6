#include "layers/common/detection/template_group.h"

#include "core/shape.h"

namespace cortado {

int64_t images_of_group(const Shape& x, int64_t i, int64_t templates) {
  if (x.axes() != 4 || x[0] % templates != 0)
    throw FieldError(entry("bottom", i),
                     "its shape is " + x.str() + ", but must be N x " + std::to_string(templates) +
                         " images of C x H x W, one for each template",
                     "reshape the branch so that each template's channels form an image");
  return x[0] / templates;
}

}  // namespace cortado
