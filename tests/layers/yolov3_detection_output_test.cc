#include <gtest/gtest.h>

#include "layers/roles.h"
#include "tests/harness/centre_boxes.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

const double kAnchors[4][2] = {{10, 14}, {23, 27}, {37, 58}, {81, 82}};
const std::string kBiases = " biases: 10 biases: 14 biases: 23 biases: 27 biases: 37 biases: 58 biases: 81 biases: 82 ";
const std::string kLayer =
    "type: 'Yolov3DetectionOutput' yolov3_detection_output_param { num_classes: 3 num_box: 2 mask_group_num: 2 "
    "mask: 2 mask: 3 mask: 0 mask: 1 anchors_scale: 32 anchors_scale: 16" +
    kBiases;

/// Every class above the threshold of every box, each a separate detection.
void find(const Array& x, size_t first_anchor, double scale, double least, std::vector<Object>& found) {
  const int64_t height = x.shape[2], width = x.shape[3];
  for (int64_t n = 0; n < x.shape[0]; ++n)
    for (int64_t k = 0; k < 2; ++k)
      for (int64_t j = 0; j < height; ++j)
        for (int64_t i = 0; i < width; ++i) {
          const auto number = [&](int64_t c) { return x[size_t((((n * 2 + k) * 8 + c) * height + j) * width + i)]; };
          const double* anchor = kAnchors[first_anchor + size_t(k)];
          for (int c = 0; c < 3; ++c) {
            const double score = sigmoid(number(4)) * sigmoid(number(5 + c));
            if (score <= least) continue;
            found.push_back({n, c, (double(i) + sigmoid(number(0))) / double(width),
                             (double(j) + sigmoid(number(1))) / double(height),
                             std::exp(number(2)) * anchor[0] / (scale * double(width)),
                             std::exp(number(3)) * anchor[1] / (scale * double(height)), score});
          }
        }
}

void check(double least, double threshold, uint64_t key) {
  SCOPED_TRACE(std::to_string(least) + ", " + std::to_string(threshold));
  check_layer({.layer = kLayer + "confidence_threshold: " + std::to_string(least) +
                        " nms_threshold: " + std::to_string(threshold) + " }",
               .x = {random({2, 16, 2, 3}, key, -2, 2), random({2, 16, 4, 6}, key + 1, -2, 2)},
               .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
                 std::vector<Object> found;
                 find(x[0], 2, 32, least, found);
                 find(x[1], 0, 16, least, found);
                 return {rows_of_best(found, 2, 2 * 2 * (6 + 24), threshold)};
               }});
}

TEST(Yolov3DetectionOutput, ReturnsTheBestBoxes) {
  check(0.3, 0.45, 1);
  check(0.01, 0.45, 3);
  check(0.1, 0.05, 5);
  check(0.5, 0.9, 7);
}

TEST(Yolov3DetectionOutput, ReportsImagesWithoutDetections) { check(0.99, 0.45, 1); }

TEST(Yolov3DetectionOutput, HasARowPerDetection) {
  const std::string layer =
      "type: 'Yolov3DetectionOutput' yolov3_detection_output_param { num_classes: 1 num_box: 1 mask_group_num: 1 "
      "biases: 8 biases: 16 anchors_scale: 32 confidence_threshold: 0.25 }";
  Array x({2, 6, 1, 2});
  x[4 * 2 + 1] = x[5 * 2 + 1] = 3;  // the right cell of the first image
  LayerRun run(layer, {x});
  run.forward();
  const auto& rows = dynamic_cast<const DynamicRows&>(run.layer());
  EXPECT_EQ(rows.current_shapes(), std::vector<Shape>({{1, 1, 1, 7}}));
  const double score = sigmoid(3) * sigmoid(3);
  const double row[7] = {0, 1, score, 0.75 - 0.0625, 0.5 - 0.25, 0.75 + 0.0625, 0.5 + 0.25};
  for (size_t i = 0; i < 7; ++i) EXPECT_NEAR(run.y()[0][i], row[i], 1e-6) << i;
}

TEST(Yolov3DetectionOutput, AcceptsAnyValues) {
  Array x({1, 6, 2, 2}, 100);
  for (const size_t i : {0u, 5u, 10u, 15u, 19u}) x[i] = std::nan("");
  LayerRun run(
      "type: 'Yolov3DetectionOutput' yolov3_detection_output_param { num_classes: 1 num_box: 1 mask_group_num: 1 "
      "biases: 8 biases: 16 anchors_scale: 32 }",
      {x});
  run.forward();
  EXPECT_EQ(run.y()[0].shape, Shape({1, 1, 4, 7}));
}

TEST(Yolov3DetectionOutput, ReportsErrors) {
  const std::string param = "yolov3_detection_output_param";
  const auto refuses = [&](const std::string& options, const std::string& field, const std::string& words) {
    expect_field_error("type: 'Yolov3DetectionOutput' " + param + " { " + options + " }",
                       {{1, 16, 2, 2}, {1, 16, 4, 4}}, field, words);
  };
  const std::string sound = "num_classes: 3 num_box: 2 anchors_scale: 32 anchors_scale: 16" + kBiases;
  const std::string mask = "mask: 0 mask: 1 mask: 2 mask: 3 ";
  refuses("", param + ".biases", "it has 0 numbers");
  refuses(kBiases, param + ".anchors_scale[0]", "0 scales for 2 bottoms");
  refuses(sound + mask + "mask_group_num: 3", param + ".mask_group_num", "3 groups for 2 bottoms");
  refuses(sound + "mask: 0", param + ".mask[0]", "1 anchor for 4 boxes");
  refuses(sound + "mask: 0 mask: 1 mask: 2 mask: 4", param + ".mask[3]", "anchor 4");
  refuses(sound + mask + "nms_threshold: -1", param + ".nms_threshold", "it is -1");
  refuses(sound + mask + "nms_threshold: nan", param + ".nms_threshold", "it is nan");
  refuses(sound + mask + "confidence_threshold: nan", param + ".confidence_threshold", "NaN");
  refuses("num_classes: 0 num_box: 2 anchors_scale: 32 anchors_scale: 16" + kBiases + mask, param + ".num_classes",
          "it is 0");
  refuses("num_classes: 3 num_box: 2 anchors_scale: 32 anchors_scale: 0" + kBiases + mask, param + ".anchors_scale[1]",
          "it is 0");
  refuses("num_classes: 4 num_box: 2 anchors_scale: 32 anchors_scale: 16" + kBiases + mask, "bottom[0]",
          "16 channels, but 2 boxes of 5 + 4 numbers need 18");
  expect_field_error("type: 'Yolov3DetectionOutput' " + param + " { " + sound + mask + " }",
                     {{1, 16, 2, 2}, {2, 16, 4, 4}}, "bottom[1]", "but bottom[0] has 1 image");
}

}  // namespace
}  // namespace cortado::harness
