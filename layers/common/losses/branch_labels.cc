#include "layers/common/losses/branch_labels.h"

#include "core/device/host_view.h"
#include "core/error.h"
#include "core/text/text.h"

namespace cortado {

namespace {

constexpr int64_t kAnyClass = 1 << 24;  ///< a float represents every class up to it

void require_classes(int64_t cls_num, const std::string& field) {
  if (cls_num < 2)
    throw FieldError(field + ".cls_num", "it is " + std::to_string(cls_num) + ", but must be 2 or more",
                     "set the number of classes, including the background");
}

BranchLabels labels_of(const Shape& x, const Shape& labels, int64_t bottom, int64_t classes,
                       const caffe::LossParameter& loss) {
  if (labels != Shape{x[0], 6, x[2], x[3]})
    throw FieldError(entry("bottom", bottom), "its shape is " + labels.str() + ", but bottom[0] has " + x.str(),
                     "each position needs a class, four numbers of a box, and an overlap");
  return {nullptr, x[0], x.count(2), classes, loss.has_ignore_label(), float(loss.ignore_label())};
}

}  // namespace

BranchLabels branch_labels(const Shape& x, const Shape& labels, int64_t cls_num, int64_t coord_num,
                           const caffe::LossParameter& loss, const std::string& field) {
  require_classes(cls_num, field);
  if (coord_num != 4)
    throw FieldError(field + ".coord_num", "it is " + std::to_string(coord_num), "set 4, the numbers of a box");
  if (x.axes() != 4 || x[1] != cls_num + 4)
    throw FieldError("bottom[0]",
                     "its shape is " + x.str() + ", but must be N x " + std::to_string(cls_num + 4) + " x H x W",
                     "a branch needs the scores of cls_num classes and four numbers of a box");
  return labels_of(x, labels, 1, cls_num, loss);
}

BranchLabels group_labels(const std::vector<Shape>& x, int64_t cls_num, bool objectness,
                          const caffe::LossParameter& loss, const std::string& field) {
  require_classes(cls_num, field);
  if (objectness && cls_num != 2)
    throw FieldError(field + ".cls_num", "it is " + std::to_string(cls_num) + ", but must be 2 with objectness",
                     "the classes are the background and any object");
  if (x[0].axes() != 4 || x[0][1] != cls_num)
    throw FieldError("bottom[0]",
                     "its shape is " + x[0].str() + ", but must be N x " + std::to_string(cls_num) + " x H x W",
                     "each position needs the scores of cls_num classes");
  if (x[1] != Shape{x[0][0], 4, x[0][2], x[0][3]})
    throw FieldError("bottom[1]", "its shape is " + x[1].str() + ", but bottom[0] has " + x[0].str(),
                     "each position needs four numbers of a box");
  return labels_of(x[0], x[2], 2, objectness ? kAnyClass : cls_num, loss);
}

void validate_branch_labels(Context& context, const Tensor& values, BranchLabels labels) {
  const HostView view(context, values.f32(), values.count());
  labels.values = view.data();
  for (int64_t n = 0; n < labels.images; ++n)
    for (int64_t p = 0; p < labels.places; ++p)
      if (labels.counts(n, p) && !labels.valid(n, p))
        throw Error(ExitCode::kData,
                    "label " + to_text(labels.label(n, p)) + " of image " + std::to_string(n) + ", place " +
                        std::to_string(p) + " is not one of the " + std::to_string(labels.classes) + " classes",
                    "set cls_num to the number of classes, including the background");
}

}  // namespace cortado
