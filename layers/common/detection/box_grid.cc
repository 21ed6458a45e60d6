#include "layers/common/detection/box_grid.h"

#include <numeric>

#include "core/error.h"
#include "core/text/text.h"

namespace cortado {

std::vector<float> anchors_of(const google::protobuf::RepeatedField<float>& biases, const std::string& field) {
  if (biases.empty() || biases.size() % 2 != 0)
    throw FieldError(biases.empty() ? field : entry(field, biases.size() - 1),
                     "it has " + std::to_string(biases.size()) + " numbers",
                     "give a width and a height for each anchor");
  for (int i = 0; i < biases.size(); ++i)
    if (!(biases[i] > 0 && std::isfinite(biases[i])))
      throw FieldError(entry(field, i), "the side of an anchor is " + to_text(biases[i]), "it must be above 0");
  return {biases.begin(), biases.end()};
}

std::vector<int32_t> chosen_anchors(const google::protobuf::RepeatedField<uint32_t>& mask, const std::string& field,
                                    int64_t anchors, int64_t count) {
  const int64_t have = mask.empty() ? anchors : mask.size();
  if (have != count)
    throw FieldError(mask.empty() ? field : miscounted(field, have, count),
                     count_of(have, "anchor", "anchors") + " for " + count_of(count, "box", "boxes"),
                     "give one anchor for each box of a cell");
  std::vector<int32_t> chosen(static_cast<size_t>(count));
  std::iota(chosen.begin(), chosen.end(), 0);
  for (int i = 0; i < mask.size(); ++i) {
    if (int64_t(mask[i]) >= anchors)
      throw FieldError(entry(field, i), "anchor " + std::to_string(mask[i]) + " does not exist: there are " +
                                            std::to_string(anchors) + ", counted from 0");
    chosen[size_t(i)] = int32_t(mask[i]);
  }
  return chosen;
}

BoxGrid grid_of(const Shape& x, int64_t index, int64_t boxes, int64_t classes) {
  const std::string bottom = entry("bottom", index);
  if (x.axes() != 4) throw FieldError(bottom, "its shape is " + x.str(), "predictions must be N x channels x H x W");
  if (x[1] != boxes * (5 + classes))
    throw FieldError(bottom,
                     "it has " + count_of(x[1], "channel", "channels") + ", but " + count_of(boxes, "box", "boxes") +
                         " of 5 + " + std::to_string(classes) + " numbers need " +
                         std::to_string(boxes * (5 + classes)),
                     "each box has x, y, w, h, a score and one number for each class");
  return {x[0], boxes, classes, x[2], x[3]};
}

}  // namespace cortado
