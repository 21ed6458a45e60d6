#pragma once

// The detections of YOLO's grids (box_grid.h), as rows of image, class (from 1), score, left, top, right, bottom: image
// by image, best first. Coordinates are relative to the image's size and not clipped. The class of a box is that with
// the best score, which must be above the threshold. Boxes that overlap a better one are dropped, whatever their
// classes. Without detections in the whole batch, y is one row for each image, -1 except for the image.

#include <vector>

#include "layers/common/detection/box_grid.h"
#include "layers/common/detection/detection_shapes.h"
#include "layers/layer.h"
#include "layers/roles.h"

namespace cortado {

class GridDetections : public Layer, public DynamicRows {
 public:
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override;
  void forward(Context& context, const Operands& io) override;
  bool differentiable(int) const override { return false; }
  LayerRoles roles() override { return {.needs_host = true, .rows = this}; }
  std::vector<Shape> current_shapes() const override { return {{1, 1, rows_, kDetectionWidth}}; }

 protected:
  /// The scores of a box of `classes` classes at scores[0], scores[step], … as probabilities.
  enum class Certainty { kSigmoid, kSoftmax };

  struct Rule {
    std::string options;  ///< the name of the options message
    float least_score, nms_threshold;
    Certainty certainty;
  };

  /// The grid of one bottom.
  struct Grid {
    std::vector<int32_t> chosen;  ///< the anchor of each box of a cell
    float unit;                   ///< the side of a cell in the anchors' unit
  };

  /// Throws FieldError.
  GridDetections(const Rule& rule, std::vector<float> anchors);

  /// Returns the shapes of y. Throws FieldError.
  LayerShapes settle(const std::vector<Shape>& x, const std::vector<Grid>& bottoms, int64_t classes);

 private:
  struct Detection {
    float score = 0;
    int64_t label = 0;
  };

  Detection best_class(const float* numbers, int64_t step, int64_t classes) const;
  void find(const float* x, size_t bottom, int64_t image);
  void add_rows(int64_t image);

  Rule rule_;
  std::vector<float> anchors_;
  std::vector<Grid> bottoms_;
  std::vector<BoxGrid> grids_;
  int64_t images_ = 0, most_ = 0, rows_ = 0;
  DetectionRows found_;
  std::vector<Box> boxes_;  ///< of the current image
  std::vector<float> scores_;
  std::vector<int64_t> labels_;
};

}  // namespace cortado
