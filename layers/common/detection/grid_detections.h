#pragma once

// What YOLO's grids (box_grid.h) have found, as rows of image, class (from 1), score, left, top, right, bottom, in
// shares of the image and not clipped to it: image by image, best first. A box's class is the one that it is surest
// of; its score must be above the threshold, and of boxes that overlap, whatever their classes, the better one stays.
// Where there is none in the whole batch, y is one row for each image, -1 but for the image.

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
  /// How sure a box of `classes` numbers at scores[0], scores[step], … is of each class.
  enum class Certainty { kSigmoid, kSoftmax };

  struct Rule {
    std::string options;  ///< the message's name
    float least_score, nms_threshold;
    Certainty certainty;
  };

  /// Of one bottom.
  struct Grid {
    std::vector<int32_t> chosen;  ///< the anchor of each box of a cell
    float unit;                   ///< of the anchors' unit in a cell
  };

  /// Throws FieldError.
  GridDetections(const Rule& rule, std::vector<float> anchors);

  /// Throws FieldError. Returns the shapes of y.
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
  std::vector<Box> boxes_;  ///< of the image at hand
  std::vector<float> scores_;
  std::vector<int64_t> labels_;
};

}  // namespace cortado
