#include <gtest/gtest.h>

#include "tests/harness/centre_boxes.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

const double kAnchors[2][2] = {{0.8, 1.2}, {2.5, 1.5}};
const std::string kBiases = " biases: 0.8 biases: 1.2 biases: 2.5 biases: 1.5 ";
const std::string kLayer =
    "type: 'YoloDetectionOutput' yolo_detection_output_param { num_classes: 3 num_box: 2" + kBiases;

void find(const Array& x, double least, std::vector<Object>& found) {
  const int64_t height = x.shape[2], width = x.shape[3];
  for (int64_t n = 0; n < x.shape[0]; ++n)
    for (int64_t k = 0; k < 2; ++k)
      for (int64_t j = 0; j < height; ++j)
        for (int64_t i = 0; i < width; ++i) {
          const auto number = [&](int64_t c) { return x[size_t((((n * 2 + k) * 8 + c) * height + j) * width + i)]; };
          double sum = 0;
          for (int c = 0; c < 3; ++c) sum += std::exp(number(5 + c));
          int best = 0;
          for (int c = 1; c < 3; ++c)
            if (number(5 + c) > number(5 + best)) best = c;
          const double score = sigmoid(number(4)) * std::exp(number(5 + best)) / sum;
          if (score <= least) continue;
          found.push_back({n, best, (double(i) + sigmoid(number(0))) / double(width),
                           (double(j) + sigmoid(number(1))) / double(height),
                           std::exp(number(2)) * kAnchors[k][0] / double(width),
                           std::exp(number(3)) * kAnchors[k][1] / double(height), score});
        }
}

void check(double least, double threshold, const Arrays& x) {
  SCOPED_TRACE(std::to_string(least) + ", " + std::to_string(threshold));
  int64_t most = 0;
  for (const Array& one : x) most += one.shape.count() / 8;
  check_layer({.layer = kLayer + "confidence_threshold: " + std::to_string(least) +
                        " nms_threshold: " + std::to_string(threshold) + " }",
               .x = x,
               .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
                 std::vector<Object> found;
                 for (const Array& one : x) find(one, least, found);
                 return {rows_of_best(found, 2, most, threshold)};
               }});
}

TEST(YoloDetectionOutput, ReturnsTheBestBoxes) {
  const Array large = random({2, 16, 3, 4}, 1, -2, 2), small = random({2, 16, 5, 5}, 2, -2, 2);
  check(0.3, 0.45, {large});
  check(0.01, 0.3, {large});
  check(0.2, 0.45, {large, small});
  check(0.99, 0.45, {large, small});
}

TEST(YoloDetectionOutput, ReportsErrors) {
  const std::string param = "yolo_detection_output_param";
  const auto refuses = [&](const std::string& options, const std::string& field, const std::string& words) {
    expect_field_error("type: 'YoloDetectionOutput' " + param + " { " + options + " }", {{1, 16, 2, 2}}, field, words);
  };
  refuses("", param + ".biases", "it has 0 numbers");
  refuses("num_classes: 3" + kBiases, param + ".biases", "2 anchors for 5 boxes");
  refuses("num_classes: 3 num_box: 2 coords: 5" + kBiases, param + ".coords", "it is 5");
  refuses("num_classes: 20 num_box: 2" + kBiases, "bottom[0]", "16 channels");
}

}  // namespace
}  // namespace cortado::harness
