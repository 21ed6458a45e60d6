#include "layers/common/losses/class_labels.h"

#include <vector>

#include "core/device/device_memory.h"
#include "core/device/host_view.h"
#include "core/text/text.h"
#include "layers/common/shape_rules.h"

namespace cortado {

void require_labels(const Shape& x, const Shape& labels, int64_t rows) {
  if (labels.count() == rows) return;
  throw FieldError("bottom[1]",
                   "there are " + std::to_string(labels.count()) + " labels (" + labels.str() + ") for " +
                       std::to_string(rows) + " predictions (" + x.str() + ")",
                   "each prediction has one label");
}

void require_targets(const Shape& x, const Shape& targets) {
  require_axes(x, 1);
  if (targets.count() == x.count()) return;
  throw FieldError("bottom[1]",
                   "there are " + std::to_string(targets.count()) + " targets (" + targets.str() + ") for " +
                       std::to_string(x.count()) + " predictions (" + x.str() + ")",
                   "each prediction has one target");
}

void require_sequence_labels(const Shape& x, int64_t sequences, const Shape& labels) {
  if (labels.axes() >= 1 && labels[0] == sequences) return;
  throw FieldError("bottom[1]",
                   "its shape is " + labels.str() + ", but bottom[0] has " +
                       count_of(sequences, "sequence", "sequences") + " (" + x.str() + ")",
                   "labels must be sequences x the largest number of labels, padded with blanks");
}

namespace {

/// With `of_item` inserted: "label 9 of item 3, place 7 is not one of the 4 classes".
std::string verdict_on(float label, const std::string& of_item, int64_t row, int64_t inner, int64_t classes) {
  const std::string place = inner == 1 ? "" : ", place " + std::to_string(row % inner);
  return "label " + to_text(label) + of_item + place + " is not one of the " + std::to_string(classes) + " classes";
}

}  // namespace

BadLabel::BadLabel(float label, int64_t row, int64_t inner, int64_t classes, const std::string& advice)
    : Error(
          ExitCode::kData, verdict_on(label, " of item " + std::to_string(row / inner), row, inner, classes),
          "labels are whole numbers from 0 to " + std::to_string(classes - 1) + (advice.empty() ? "" : "; " + advice)),
      row_(row),
      verdict_(verdict_on(label, "", row, inner, classes)) {}

void validate_labels(Context& context, const Tensor& values, ClassLabels labels, int64_t inner, const char* advice) {
  const HostView view(context, values.f32(), values.count());
  labels.values = view.data();
  for (int64_t r = 0; r < values.count(); ++r)
    if (labels.counts(r) && !labels.valid(r)) throw BadLabel(labels.values[r], r, inner, labels.classes, advice);
}

}  // namespace cortado
