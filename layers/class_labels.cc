#include "layers/class_labels.h"

#include <vector>

#include "core/device_memory.h"
#include "core/error.h"
#include "layers/words.h"

namespace cortado {

void require_labels(const Shape& x, const Shape& labels, int64_t rows) {
  if (labels.count() == rows) return;
  throw FieldError("bottom[1]",
                   "there are " + std::to_string(labels.count()) + " labels (" + labels.str() + ") for " +
                       std::to_string(rows) + " predictions (" + x.str() + ")",
                   "each prediction has one label");
}

void check_labels(const ClassLabels& labels, int64_t rows, int64_t inner, const char* advice) {
  for (int64_t r = 0; r < rows; ++r) {
    if (!labels.counts(r) || labels.valid(r)) continue;
    const std::string place = inner == 1 ? "" : ", place " + std::to_string(r % inner);
    throw Error(ExitCode::kData,
                "label " + text_of(labels.values[r]) + " of item " + std::to_string(r / inner) + place +
                    " is not one of the " + std::to_string(labels.classes) + " classes",
                "labels are whole numbers from 0 to " + std::to_string(labels.classes - 1) +
                    (*advice ? std::string("; ") + advice : ""));
  }
}

void explain_labels(Context& context, const Tensor& values, ClassLabels labels, int64_t inner,
                    const char* advice) {
  std::vector<float> copy(size_t(values.count()));
  copy_to_host(context, copy.data(), values.data, copy.size() * sizeof(float));
  labels.values = copy.data();
  check_labels(labels, values.count(), inner, advice);
}

}  // namespace cortado
