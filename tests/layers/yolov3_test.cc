#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "tests/harness/centre_boxes.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

struct Options {
  std::vector<double> anchors = {10, 14, 23, 27, 37, 58, 81, 82};
  std::vector<int> mask = {2, 1};
  int64_t classes = 3, height = 3, width = 4;
  double scale = 16, object = 1, noobject = 1, classes_scale = 1, coord = 1, thresh = 0.5;
  bool squares = false;

  std::string text() const {
    std::string text = "type: 'Yolov3' yolov3_param { num_class: 3 num: 2 anchors_scale: 16 mask: 2 mask: 1";
    for (const double a : anchors) text += " biases: " + std::to_string(a);
    text += " object_scale: " + std::to_string(object) + " noobject_scale: " + std::to_string(noobject) +
            " class_scale: " + std::to_string(classes_scale) + " coord_scale: " + std::to_string(coord) +
            " thresh: " + std::to_string(thresh) + (squares ? " use_logic_gradient: true" : "");
    return text + " }";
  }
};

/// The loss; with `costs`, the costs that it is derived from.
class Reference {
 public:
  Reference(const Options& o, std::vector<Object> objects, bool costs)
      : o_(o), objects_(std::move(objects)), costs_(costs) {}

  double operator()(const Array& x) const {
    double sum = 0;
    for (int64_t n = 0; n < x.shape[0]; ++n)
      for (int64_t k = 0; k < 2; ++k)
        for (int64_t j = 0; j < o_.height; ++j)
          for (int64_t i = 0; i < o_.width; ++i) sum += of_box(x, n, k, j, i);
    return sum / double(x.shape[0]);
  }

 private:
  double side(size_t anchor, size_t axis) const {
    return o_.anchors[2 * anchor + axis] / (o_.scale * double(axis == 0 ? o_.width : o_.height));
  }
  size_t best_anchor(const Object& object) const {
    size_t best = 0;
    double most = 0;
    for (size_t a = 0; a < o_.anchors.size() / 2; ++a) {
      const double v = overlap({0, 0, 0, 0, side(a, 0), side(a, 1)}, {0, 0, 0, 0, object.w, object.h});
      if (v > most) best = a, most = v;
    }
    return best;
  }
  double term(double x, double t, double weight) const {
    const double s = sigmoid(x), slope = weight * (o_.squares ? (s - t) * s * (1 - s) : s - t);
    if (!costs_) return slope * slope;
    return weight * (o_.squares ? (s - t) * (s - t) / 2 : -t * std::log(s) - (1 - t) * std::log(1 - s));
  }
  double side_term(double difference, double weight) const {
    return costs_ ? weight * difference * difference / 2 : weight * weight * difference * difference;
  }

  double of_box(const Array& x, int64_t n, int64_t k, int64_t j, int64_t i) const {
    const auto number = [&](int64_t c) {
      return x[size_t((((n * 2 + k) * (5 + o_.classes) + c) * o_.height + j) * o_.width + i)];
    };
    const size_t anchor = size_t(o_.mask[size_t(k)]);
    const Object box = {n,
                        0,
                        (double(i) + sigmoid(number(0))) / double(o_.width),
                        (double(j) + sigmoid(number(1))) / double(o_.height),
                        std::exp(number(2)) * side(anchor, 0),
                        std::exp(number(3)) * side(anchor, 1)};
    const Object* own = nullptr;
    std::vector<bool> wanted(size_t(o_.classes), false);
    double most = 0;
    for (const Object& object : objects_) {
      if (object.image != n) continue;
      most = std::max(most, overlap(box, object));
      const bool here = int64_t(object.x * double(o_.width)) == i && int64_t(object.y * double(o_.height)) == j;
      if (!here || best_anchor(object) != anchor) continue;
      own = &object;
      wanted[size_t(object.label)] = true;
    }
    if (!own) return most > o_.thresh ? 0 : term(number(4), 0, o_.noobject);
    const double weight = o_.coord * (2 - own->w * own->h);
    const double dw = number(2) - std::log(own->w / side(anchor, 0));
    const double dh = number(3) - std::log(own->h / side(anchor, 1));
    double sum = term(number(0), own->x * double(o_.width) - double(i), weight) +
                 term(number(1), own->y * double(o_.height) - double(j), weight) + side_term(dw, weight) +
                 side_term(dh, weight);
    sum += term(number(4), 1, o_.squares ? o_.object : 1);
    for (int64_t c = 0; c < o_.classes; ++c) sum += term(number(5 + c), wanted[size_t(c)] ? 1 : 0, o_.classes_scale);
    return sum;
  }

  Options o_;
  std::vector<Object> objects_;
  bool costs_;
};

/// Two images of 64 x 48 pixels: anchors 1 and 2 are this grid's, the last object's anchor is not.
const std::vector<Object> kObjects = {{0, 2, 0.3, 0.7, 0.4, 0.5},
                                      {0, 0, 0.55, 0.2, 0.6, 0.95},
                                      {0, 1, 0.32, 0.72, 0.38, 0.6},
                                      {1, 1, 0.8, 0.9, 0.1, 0.25}};

void check(const Options& options, const Array& objects, const std::vector<Object>& list) {
  const auto of = [&](bool costs) {
    return [reference = Reference(options, list, costs)](const Arrays& x, const Arrays&) -> Arrays {
      return {Array(Shape(), reference(x[0]))};
    };
  };
  check_layer({.layer = options.text(),
               .x = {random({2, 16, 3, 4}, 1), objects},
               .reference = of(false),
               .potential = of(true)});
}

TEST(Yolov3, MatchesTheDefinition) {
  check({}, by_image(kObjects, 2, 5), kObjects);
  check({}, with_images(kObjects), kObjects);
}

TEST(Yolov3, UsesItsWeights) {
  check({.object = 5, .noobject = 0.5, .classes_scale = 2, .coord = 3, .thresh = 0.2}, by_image(kObjects, 2, 4),
        kObjects);
  check({.object = 5, .noobject = 0.5, .classes_scale = 2, .coord = 3, .squares = true}, by_image(kObjects, 2, 4),
        kObjects);
}

TEST(Yolov3, AcceptsImagesWithoutObjects) {
  check({}, Array({2, 15}), {});
  check({}, Array({1, 1, 1, 8}, -1), {});
}

TEST(Yolov3, SkipsInvalidBoxes) {
  std::vector<Object> list = kObjects;
  list.insert(list.begin() + 1, {{0, 1, 1.2, 0.5, 0.3, 0.3}, {1, 1, 0.5, 0.5, -0.3, 0.3}, {1, 1, 0.5, 0.5, 0.3, 0}});
  check({}, with_images(list), kObjects);
}

/// Anchors, mask and scale in a grid of one cell, by hand.
TEST(Yolov3, UsesObjectsOfItsAnchorsOnly) {
  const std::string layer =
      "type: 'Yolov3' yolov3_param { num_class: 1 num: 1 anchors_scale: 32 biases: 8 biases: 8 biases: 32 biases: 16 "
      "thresh: 0.9 mask: ";
  const Array x({1, 6, 1, 1}), object({1, 5}, {0, 0.5, 0.5, 1, 0.5});
  const double zero = 0.25;  // the square of 1/2, the slope for a sigmoid of 0 and targets 0 or 1
  LayerRun mine(layer + "1 }", {x, object}), other(layer + "0 }", {x, object});
  mine.forward();
  EXPECT_NEAR(mine.y()[0][0], zero + zero, 1e-5);  // the centre is as predicted, the sides are the anchor's
  other.forward();
  EXPECT_NEAR(other.y()[0][0], zero, 1e-6);
}

TEST(Yolov3, ReportsTheInvalidObject) {
  const auto says = [](const Array& objects, const std::string& words) {
    const Arrays x = {random({2, 16, 3, 4}, 1), objects};
    for (const Device& device : tested_devices()) {
      RunOptions options;
      options.device = device;
      LayerRun on_device(Options().text(), x, options);
      on_device.forward();
      EXPECT_TRUE(std::isnan(on_device.y()[0][0]));
    }
    try {
      LayerRun(Options().text(), x).forward();
      ADD_FAILURE() << "nothing was said of " << words;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  std::vector<Object> list = kObjects;
  list[1].label = 3;
  says(by_image(list, 2, 5), "label 3 of item 0, place 1 is not one of the 3 classes");
  says(with_images(list), "row 1 of the objects has class 4");
  list = kObjects;
  list[2].image = 2;
  says(with_images(list), "row 2 of the objects is of image 2, but the batch has 2 images");
  Array fraction = by_image(kObjects, 2, 5);
  fraction[0] = 0.5;
  says(fraction, "label 0.5 of item 0");
  fraction[0] = std::nan("");
  says(fraction, "label nan of item 0");
}

TEST(Yolov3, ReportsErrors) {
  const auto refuses = [](const std::string& options, const std::string& field, const std::string& words) {
    expect_field_error("type: 'Yolov3' yolov3_param { " + options + " }", {{2, 16, 3, 4}, {2, 5}}, field, words);
  };
  const std::string two = "num: 2 num_class: 3 biases: 1 biases: 1 biases: 2 biases: 2 ";
  refuses("", "yolov3_param.biases", "it has 0 numbers");
  refuses("biases: 1 biases: 2 biases: 3", "yolov3_param.biases[2]", "it has 3 numbers");
  refuses("biases: 1 biases: -2", "yolov3_param.biases[1]", "the side of an anchor is -2");
  refuses(two + "mask: 1", "yolov3_param.mask[0]", "1 anchor for 2 boxes");
  refuses("biases: 1 biases: 2", "yolov3_param.mask", "1 anchor for 3 boxes");
  refuses(two + "mask: 1 mask: 2", "yolov3_param.mask[1]", "anchor 2 does not exist: there are 2");
  refuses(two + "anchors_scale: 0", "yolov3_param.anchors_scale", "it is 0");
  refuses(two + "use_gt_label: true", "yolov3_param.use_gt_label", "not available");
  refuses("num: 2 num_class: 4 biases: 1 biases: 1 biases: 2 biases: 2", "bottom[0]",
          "it has 16 channels, but 2 boxes of 5 + 4 numbers need 18");
  const auto refuses_shapes = [&](const Shape& x, const Shape& objects, const std::string& field,
                                  const std::string& words) {
    expect_field_error("type: 'Yolov3' yolov3_param { " + two + "}", {x, objects}, field, words);
  };
  refuses_shapes({2, 16, 12}, {2, 5}, "bottom[0]", "its shape is 2x16x12");
  refuses_shapes({2, 16, 3, 4}, {3, 5}, "bottom[1]", "its shape is 3x5");
  refuses_shapes({2, 16, 3, 4}, {2, 8}, "bottom[1]", "its shape is 2x8");
  refuses_shapes({2, 16, 3, 4}, Shape(), "bottom[1]", "its shape is scalar");
}

}  // namespace
}  // namespace cortado::harness
