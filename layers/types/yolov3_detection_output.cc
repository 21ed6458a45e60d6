// Yolov3DetectionOutput (MobileNet-YOLO): the detections of YOLO v3. Each bottom is a grid of predictions
// (layers/common/detection/box_grid.h) with its own anchors (mask) and cell size (anchors_scale); for the rows see
// layers/common/detection/grid_detections.h. The score of a box is sigmoid(score) times the largest sigmoid(class).
//
// In MobileNet-YOLO all images of a batch are treated as image 0; here each has separate rows. There a box yields a
// detection for each class above the threshold, of which the best suppresses the others; the result is the same.

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/detection/grid_detections.h"
#include "layers/registry.h"

namespace cortado {

namespace {

const std::string kYolov3DetectionOutputOptions = "yolov3_detection_output_param";

class Yolov3DetectionOutputLayer : public GridDetections {
 public:
  explicit Yolov3DetectionOutputLayer(const LayerOptions& options)
      : Yolov3DetectionOutputLayer(options.config.yolov3_detection_output_param()) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    const int64_t bottoms = int64_t(x.size());
    if (options_.mask_group_num() != bottoms)
      throw FieldError(
          kYolov3DetectionOutputOptions + ".mask_group_num",
          std::to_string(options_.mask_group_num()) + " groups for " + count_of(bottoms, "bottom", "bottoms"),
          "set mask_group_num to the number of bottoms");
    if (options_.anchors_scale_size() != bottoms)
      throw FieldError(
          miscounted(kYolov3DetectionOutputOptions + ".anchors_scale", options_.anchors_scale_size(), bottoms),
          count_of(options_.anchors_scale_size(), "scale", "scales") + " for " + count_of(bottoms, "bottom", "bottoms"),
          "set one for each bottom");
    return settle(x, grids(bottoms), options_.num_classes());
  }

 private:
  explicit Yolov3DetectionOutputLayer(const caffe::Yolov3DetectionOutputParameter& options)
      : GridDetections({kYolov3DetectionOutputOptions, options.confidence_threshold(), options.nms_threshold(),
                        Certainty::kSigmoid},
                       anchors_of(options.biases(), kYolov3DetectionOutputOptions + ".biases")),
        options_(options) {}

  std::vector<Grid> grids(int64_t bottoms) const {
    const int64_t boxes = options_.num_box();
    const std::vector<int32_t> chosen = chosen_anchors(options_.mask(), kYolov3DetectionOutputOptions + ".mask",
                                                       options_.biases_size() / 2, boxes * bottoms);
    std::vector<Grid> grids;
    for (int i = 0; i < int(bottoms); ++i) {
      if (options_.anchors_scale(i) == 0)
        throw FieldError(entry(kYolov3DetectionOutputOptions + ".anchors_scale", i), "it is 0, but must be above 0",
                         "set the image's width divided by the grid's");
      grids.push_back(
          {{chosen.begin() + i * boxes, chosen.begin() + (i + 1) * boxes}, float(options_.anchors_scale(i))});
    }
    return grids;
  }

  const caffe::Yolov3DetectionOutputParameter& options_;
};

const RegisterLayer register_yolov3_detection_output({
    .name = "Yolov3DetectionOutput",
    .help = "the detections of YOLO v3, as rows",
    .options = "yolov3_detection_output_param",
    .min_bottoms = 1,
    .max_bottoms = -1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<Yolov3DetectionOutputLayer>,
    .family = LayerFamily::kScore,
});

}  // namespace

}  // namespace cortado
