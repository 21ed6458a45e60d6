// The detections of YOLO's grids (layers/common/detection/grid_detections.h), with ONNX's NonMaxSuppression over the
// boxes of all classes.
#include <algorithm>

#include "layers/common/detection/box_grid.h"
#include "onnx/export/operators.h"
#include "onnx/export/suppression.h"
#include "onnx/export/table.h"

namespace cortado::exporting {

namespace {

/// How one bottom's numbers become boxes.
struct CellGrid {
  BoxGrid grid;
  std::vector<float> widths, heights;  ///< of the anchor of each box of a cell, relative to the image
  bool softmax;                        ///< of the classes; otherwise each has its own sigmoid
};

/// Of all boxes of an image: N x boxes x 4, and N x boxes.
struct CellBoxes {
  std::string boxes, scores, labels;
};

/// Centre and half the side of each box along one axis, from its offsets.
std::vector<std::string> along(LayerWriter& layer, const std::string& offset, const std::string& stretch,
                               const std::vector<float>& cells, int64_t extent, const std::vector<float>& anchors) {
  const std::string cell = layer.floats("cells", {1, 1, 1, int64_t(cells.size())}, cells);
  const std::string anchor = layer.floats("anchors", {1, int64_t(anchors.size()), 1, 1}, anchors);
  const std::string place = binary(layer, "Add", unary(layer, "Sigmoid", offset), cell);
  const std::string center = binary(layer, "Div", place, layer.number(float(extent)));
  const std::string side = binary(layer, "Mul", unary(layer, "Exp", stretch), anchor);
  return {center, binary(layer, "Mul", side, layer.number(0.5f))};
}

CellBoxes cell_boxes(LayerWriter& layer, size_t bottom, const CellGrid& cells) {
  const BoxGrid& grid = cells.grid;
  const std::string x = reshape(layer, layer.x[bottom].name, {-1, grid.boxes, grid.numbers(), grid.cells()});
  const std::vector<std::string> parts =
      layer.add({"Split", {x, layer.integers("sizes", {1, 1, 1, 1, 1, grid.classes})}, {{"axis", int64_t(2)}}}, 6);
  std::vector<float> columns, rows;
  for (int64_t cell = 0; cell < grid.cells(); ++cell) {
    columns.push_back(float(grid.column(cell)));
    rows.push_back(float(grid.row(cell)));
  }
  const auto across = along(layer, parts[0], parts[2], columns, grid.width, cells.widths);
  const auto down = along(layer, parts[1], parts[3], rows, grid.height, cells.heights);
  const std::string corners =
      concat(layer,
             {binary(layer, "Sub", across[0], across[1]), binary(layer, "Sub", down[0], down[1]),
              binary(layer, "Add", across[0], across[1]), binary(layer, "Add", down[0], down[1])},
             2);
  const std::string chances =
      cells.softmax ? layer.add({"Softmax", {parts[5]}, {{"axis", int64_t(2)}}}) : unary(layer, "Sigmoid", parts[5]);
  const std::string best = layer.add({"ReduceMax", {chances}, {{"axes", std::vector<int64_t>{2}}}});
  const std::string score = binary(layer, "Mul", unary(layer, "Sigmoid", parts[4]), best);
  const std::string label = as_float(layer, layer.add({"ArgMax", {parts[5]}, {{"axis", int64_t(2)}}}));
  return {reshape(layer, transpose(layer, corners, {0, 1, 3, 2}), {-1, grid.slots(), 4}),
          reshape(layer, score, {-1, grid.slots()}), reshape(layer, label, {-1, grid.slots()})};
}

/// Joins the boxes of all bottoms, best first.
void finish_grids(LayerWriter& layer, const std::vector<CellGrid>& grids, float least, float threshold) {
  std::vector<std::string> boxes, scores, labels;
  int64_t slots = 0;
  for (size_t i = 0; i < grids.size(); ++i) {
    const CellBoxes found = cell_boxes(layer, i, grids[i]);
    boxes.push_back(found.boxes);
    scores.push_back(found.scores);
    labels.push_back(found.labels);
    slots += grids[i].grid.slots();
  }
  const BestScores best = best_scores(layer, concat(layer, scores, 1), 1, slots);
  const std::string ordered = rows_at(layer, concat(layer, boxes, 1), best.places, slots);
  const std::string label =
      layer.add({"GatherElements", {concat(layer, labels, 1), best.places}, {{"axis", int64_t(1)}}});
  const Suppression rule{std::min(threshold, 1.0f), std::max(least, kDropped), slots, slots};
  finish_detections(layer, {suppressed(layer, ordered, best.values, rule), binary(layer, "Add", label, layer.number(1)),
                            best.values, ordered, slots});
}

/// `chosen`: the anchors of the boxes of a cell; `unit`: the side of a cell in their unit.
CellGrid cell_grid(const LayerWriter& layer, size_t bottom, int64_t classes, const std::vector<float>& sizes,
                   const std::vector<int32_t>& chosen, float unit, bool softmax) {
  CellGrid cells{grid_of(layer.x[bottom].shape, int64_t(bottom), int64_t(chosen.size()), classes), {}, {}, softmax};
  const Anchors anchors{sizes.data(), int64_t(sizes.size() / 2), chosen.data(), unit};
  for (const int32_t which : chosen) {
    cells.widths.push_back(cells.grid.anchor_width(anchors, which));
    cells.heights.push_back(cells.grid.anchor_height(anchors, which));
  }
  return cells;
}

void write_yolo_detection_output(LayerWriter& layer) {
  const auto& param = layer.config.yolo_detection_output_param();
  const std::string field = "yolo_detection_output_param.biases";
  const std::vector<float> sizes = anchors_of(param.biases(), field);
  const std::vector<int32_t> all = chosen_anchors({}, field, int64_t(sizes.size() / 2), param.num_box());
  std::vector<CellGrid> grids;
  for (size_t i = 0; i < layer.x.size(); ++i)
    grids.push_back(cell_grid(layer, i, param.num_classes(), sizes, all, 1, true));
  finish_grids(layer, grids, param.confidence_threshold(), param.nms_threshold());
}

void write_yolov3_detection_output(LayerWriter& layer) {
  const auto& param = layer.config.yolov3_detection_output_param();
  const std::vector<float> sizes = anchors_of(param.biases(), "yolov3_detection_output_param.biases");
  const int64_t boxes = param.num_box(), bottoms = int64_t(layer.x.size());
  const std::vector<int32_t> chosen =
      chosen_anchors(param.mask(), "yolov3_detection_output_param.mask", int64_t(sizes.size() / 2), boxes * bottoms);
  std::vector<CellGrid> grids;
  for (int64_t i = 0; i < bottoms; ++i)
    grids.push_back(cell_grid(layer, size_t(i), param.num_classes(), sizes,
                              {chosen.begin() + i * boxes, chosen.begin() + (i + 1) * boxes},
                              float(param.anchors_scale(int(i))), false));
  finish_grids(layer, grids, param.confidence_threshold(), param.nms_threshold());
}

}  // namespace

void add_grid_detections(Table& table) {
  table.insert(
      {{"YoloDetectionOutput", write_yolo_detection_output}, {"Yolov3DetectionOutput", write_yolov3_detection_output}});
}

}  // namespace cortado::exporting
