#include <gtest/gtest.h>

#include "tests/harness/centre_boxes.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

constexpr int64_t kHeight = 3, kWidth = 4, kClasses = 3;
const double kAnchors[2][2] = {{0.8, 1.2}, {2.5, 1.5}};
const std::string kSound = "num_class: 3 num: 2 biases: 0.8 biases: 1.2 biases: 2.5 biases: 1.5 ";

struct Options {
  double object = 1, noobject = 0.5, classes = 1, coord = 5, thresh = 0.2;
  bool rescore = true, by_anchors = true, drawn = false;

  std::string text() const {
    return "type: 'RegionLoss' region_loss_param { " + kSound + "object_scale: " + std::to_string(object) +
           " noobject_scale: " + std::to_string(noobject) + " class_scale: " + std::to_string(classes) +
           " coord_scale: " + std::to_string(coord) + " thresh: " + std::to_string(thresh) +
           (rescore ? "" : " rescore: 0") + (by_anchors ? "" : " bias_match: 0") + " }";
  }
};

class Reference {
 public:
  /// Decisions that depend on the size of x are taken from `given`.
  Reference(const Options& o, std::vector<Object> objects, Array given)
      : o_(o), objects_(std::move(objects)), given_(std::move(given)) {}

  double operator()(const Array& x) const {
    double sum = 0;
    for (int64_t n = 0; n < 2; ++n)
      for (int64_t k = 0; k < 2; ++k)
        for (int64_t j = 0; j < kHeight; ++j)
          for (int64_t i = 0; i < kWidth; ++i) sum += of_box(x, n, k, j, i);
    return sum / 2;
  }

 private:
  static double number(const Array& x, int64_t n, int64_t k, int64_t j, int64_t i, int64_t c) {
    return x[size_t((((n * 2 + k) * (5 + kClasses) + c) * kHeight + j) * kWidth + i)];
  }
  static double anchor(int64_t k, int axis) { return kAnchors[k][axis] / double(axis == 0 ? kWidth : kHeight); }
  static Object box(const Array& x, int64_t n, int64_t k, int64_t j, int64_t i) {
    return {n,
            0,
            (double(i) + sigmoid(number(x, n, k, j, i, 0))) / double(kWidth),
            (double(j) + sigmoid(number(x, n, k, j, i, 1))) / double(kHeight),
            std::exp(number(x, n, k, j, i, 2)) * anchor(k, 0),
            std::exp(number(x, n, k, j, i, 3)) * anchor(k, 1)};
  }

  int64_t best_box(const Object& object, int64_t n, int64_t j, int64_t i) const {
    int64_t best = 0;
    double most = 0;
    for (int64_t k = 0; k < 2; ++k) {
      Object shape = o_.by_anchors ? Object{0, 0, 0, 0, anchor(k, 0), anchor(k, 1)} : box(given_, n, k, j, i);
      shape.x = shape.y = 0;
      const double v = overlap(shape, {0, 0, 0, 0, object.w, object.h});
      if (v > most) best = k, most = v;
    }
    return best;
  }

  static double half(double v) { return v * v / 2; }
  static double of_place(const Array& x, int64_t n, int64_t k, int64_t j, int64_t i, const Object& wanted) {
    return half(sigmoid(number(x, n, k, j, i, 0)) - (wanted.x * double(kWidth) - double(i))) +
           half(sigmoid(number(x, n, k, j, i, 1)) - (wanted.y * double(kHeight) - double(j))) +
           half(number(x, n, k, j, i, 2) - std::log(wanted.w / anchor(k, 0))) +
           half(number(x, n, k, j, i, 3) - std::log(wanted.h / anchor(k, 1)));
  }

  double of_box(const Array& x, int64_t n, int64_t k, int64_t j, int64_t i) const {
    const Object* own = nullptr;
    double most = 0;
    for (const Object& object : objects_) {
      if (object.image != n) continue;
      most = std::max(most, overlap(box(x, n, k, j, i), object));
      const bool here = int64_t(object.x * double(kWidth)) == i && int64_t(object.y * double(kHeight)) == j;
      if (here && best_box(object, n, j, i) == k) own = &object;
    }
    const double score = sigmoid(number(x, n, k, j, i, 4));
    if (!own) {
      const Object middle = {
          n, 0, (double(i) + 0.5) / double(kWidth), (double(j) + 0.5) / double(kHeight), anchor(k, 0), anchor(k, 1)};
      return (o_.drawn ? 0.01 * of_place(x, n, k, j, i, middle) : 0) +
             (most > o_.thresh ? 0 : o_.noobject * half(score));
    }
    double sum = 0;
    for (int64_t c = 0; c < kClasses; ++c) sum += std::exp(number(x, n, k, j, i, 5 + c));
    const double wanted = o_.rescore ? overlap(box(given_, n, k, j, i), *own) : 1;
    return o_.coord * (o_.rescore ? 1 : 2 - own->w * own->h) * of_place(x, n, k, j, i, *own) +
           o_.object * half(score - wanted) + o_.classes * (std::log(sum) - number(x, n, k, j, i, 5 + own->label));
  }

  Options o_;
  std::vector<Object> objects_;
  Array given_;
};

const std::vector<Object> kObjects = {{0, 2, 0.3, 0.7, 0.4, 0.5},
                                      {0, 0, 0.55, 0.2, 0.6, 0.95},
                                      {0, 1, 0.32, 0.72, 0.38, 0.6},
                                      {1, 1, 0.8, 0.9, 0.1, 0.25}};

void check(const Options& options, const Array& objects, const std::vector<Object>& list) {
  SCOPED_TRACE(options.text());
  const Array x = random({2, 16, kHeight, kWidth}, 1);
  const Reference reference(options, list, x);
  check_layer({.layer = options.text(),
               .x = {x, objects},
               .reference = [=](const Arrays& x, const Arrays&) -> Arrays { return {Array(Shape(), reference(x[0]))}; },
               .phase = options.drawn ? caffe::TRAIN : caffe::TEST});
}

TEST(RegionLoss, MatchesTheDefinition) {
  check({}, by_image(kObjects, 2, 5), kObjects);
  check({}, with_images(kObjects), kObjects);
  check({}, Array({2, 150}), {});
}

TEST(RegionLoss, UsesItsWeights) {
  check({.object = 5, .noobject = 1, .classes = 2, .coord = 1, .thresh = 0.6}, by_image(kObjects, 2, 4), kObjects);
  check({.object = 5, .noobject = 1, .rescore = false}, by_image(kObjects, 2, 4), kObjects);
  check({.by_anchors = false}, by_image(kObjects, 2, 4), kObjects);
}

TEST(RegionLoss, DrawsBoxesToTheirAnchorsInTheFirstPasses) {
  check({.drawn = true}, by_image(kObjects, 2, 4), kObjects);
  const Array x = random({2, 16, kHeight, kWidth}, 1), none({2, 5});
  const auto loss = [&](uint64_t pass) {
    RunOptions options;
    options.pass = pass;
    LayerRun run(Options().text(), {x, none}, options);
    run.forward();
    return run.y()[0][0];
  };
  EXPECT_EQ(loss(0), loss(6399));
  EXPECT_LT(loss(6400), loss(6399));
}

TEST(RegionLoss, ReportsErrors) {
  const std::string param = "region_loss_param";
  const auto refuses = [&](const std::string& options, const std::string& field, const std::string& words) {
    expect_field_error("type: 'RegionLoss' " + param + " { " + options + " }", {{2, 16, 3, 4}, {2, 5}}, field, words);
  };
  refuses("", param + ".biases", "it has 0 numbers");
  refuses("biases: 1 biases: 2", param + ".biases", "1 anchor for 5 boxes");
  refuses(kSound + "coords: 5", param + ".coords", "it is 5");
  refuses(kSound + "softmax: 0", param + ".softmax", "only softmax");
  refuses(kSound + "softmax_tree: 'tree'", param + ".softmax_tree", "not available");
  refuses(kSound + "class_map: 'map'", param + ".class_map", "not available");
  refuses("num: 2 biases: 1 biases: 1 biases: 2 biases: 2", "bottom[0]",
          "it has 16 channels, but 2 boxes of 5 + 20 numbers need 50");
}

}  // namespace
}  // namespace cortado::harness
