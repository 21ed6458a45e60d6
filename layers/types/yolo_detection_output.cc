// YoloDetectionOutput (MobileNet-YOLO): the detections of YOLO v2. Each bottom is a grid of predictions
// (layers/common/detection/box_grid.h), all with the same anchors, in cells; for the rows see
// layers/common/detection/grid_detections.h. The score of a box is sigmoid(score) times the largest of the classes'
// softmax.
//
// In MobileNet-YOLO all images of a batch are treated as image 0; here each has separate rows.

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/detection/grid_detections.h"
#include "layers/registry.h"

namespace cortado {

namespace {

const std::string kYoloDetectionOutputOptions = "yolo_detection_output_param";

class YoloDetectionOutputLayer : public GridDetections {
 public:
  explicit YoloDetectionOutputLayer(const LayerOptions& options)
      : YoloDetectionOutputLayer(options.config.yolo_detection_output_param()) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    const std::vector<int32_t> all =
        chosen_anchors({}, kYoloDetectionOutputOptions + ".biases", options_.biases_size() / 2, options_.num_box());
    return settle(x, std::vector<Grid>(x.size(), Grid{all, 1}), options_.num_classes());
  }

 private:
  explicit YoloDetectionOutputLayer(const caffe::YoloDetectionOutputParameter& options)
      : GridDetections(
            {kYoloDetectionOutputOptions, options.confidence_threshold(), options.nms_threshold(), Certainty::kSoftmax},
            anchors_of(options.biases(), kYoloDetectionOutputOptions + ".biases")),
        options_(options) {
    if (options.coords() != 4)
      throw FieldError(kYoloDetectionOutputOptions + ".coords",
                       "it is " + std::to_string(options.coords()) + ", but must be 4",
                       "set 4: a box has x, y, w and h");
  }

  const caffe::YoloDetectionOutputParameter& options_;
};

const RegisterLayer register_yolo_detection_output({
    .name = "YoloDetectionOutput",
    .help = "the detections of YOLO v2, as rows",
    .options = "yolo_detection_output_param",
    .min_bottoms = 1,
    .max_bottoms = -1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<YoloDetectionOutputLayer>,
    .family = LayerFamily::kScore,
});

}  // namespace

}  // namespace cortado
