#include "core/device/host_view.h"
#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/detection/grid_loss.h"
#include "layers/common/losses/class_labels.h"

namespace cortado {

ObjectRows object_rows(const Shape& objects, int64_t images, int64_t classes) {
  const bool names_image = objects.axes() == 4 && objects[0] == 1 && objects[1] == 1 && objects[3] == 8;
  if (!names_image && (objects.axes() < 1 || objects[0] != images || objects.count(1) % 5 != 0))
    throw FieldError("bottom[1]", "its shape is " + objects.str(),
                     "objects are 1 x 1 x M x 8 (image, class, instance, left, top, right, bottom, difficult) or, for "
                     "each of the " +
                         count_of(images, "image", "images") + ", rows of 5 (class, x, y, width, height)");
  return {nullptr, names_image ? objects[2] : objects.count(1) / 5, names_image, images, classes};
}

LayerShapes GridLoss::settle(const std::vector<Shape>& x, int64_t classes) {
  grid_ = grid_of(x[0], 0, int64_t(chosen_.size()), classes);
  rows_ = object_rows(x[1], grid_.images, classes);
  checked_mul(checked_mul(grid_.images, rows_.rows), int64_t(sizeof(GridObject)));
  return {.y = {Shape()}, .w = {}};
}

Anchors GridLoss::anchors(float unit) const {
  return {reinterpret_cast<const float*>(placed_anchors_.data()), int64_t(anchors_.size() / 2),
          reinterpret_cast<const int32_t*>(placed_chosen_.data()), unit};
}

LayerNeeds GridLoss::prepare(const PrepareRequest&, Context& context) {
  placed_anchors_ = DeviceMemory(context, anchors_.size() * sizeof(float));
  copy_to_device(context, placed_anchors_.data(), anchors_.data(), placed_anchors_.bytes());
  placed_chosen_ = DeviceMemory(context, chosen_.size() * sizeof(int32_t));
  copy_to_device(context, placed_chosen_.data(), chosen_.data(), placed_chosen_.bytes());
  LayerNeeds needs;
  needs.backward_reads_x = {true, true};
  needs.backward_scratch = bytes_of_truths();
  needs.forward_scratch = bytes_of_truths() + grid_.images * grid_.slots() * int64_t(sizeof(float));
  return needs;
}

void GridLoss::validate(Context& context, const Operands& io) {
  const HostView view(context, io.x[1].f32(), io.x[1].count());
  ObjectRows rows = rows_;
  rows.values = view.data();
  for (int64_t image = 0; image < grid_.images; ++image)
    for (int64_t k = 0; k < rows.rows; ++k) {
      const int64_t row = rows.first(image) + k;
      const ObjectRows::Kind kind = rows.kind(row, image);
      if (kind == ObjectRows::Kind::kEnd) break;
      if (kind == ObjectRows::Kind::kNoImage)
        throw Error(ExitCode::kData,
                    "row " + std::to_string(row) + " of the objects is of image " + to_text(rows.image_of(row)) +
                        ", but the batch has " + count_of(grid_.images, "image", "images"),
                    "images are numbered from 0; -1 marks an unused row");
      if (kind != ObjectRows::Kind::kNoClass) continue;
      if (!rows.names_image) throw BadLabel(rows.label_of(row), row, rows.rows, grid_.classes, "");
      throw Error(ExitCode::kData,
                  "row " + std::to_string(row) + " of the objects has class " + to_text(rows.label_of(row) + 1),
                  "classes are whole numbers from 1 to " + std::to_string(grid_.classes));
    }
}

}  // namespace cortado
