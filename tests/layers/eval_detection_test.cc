#include <gtest/gtest.h>

#include <map>

#include "core/error.h"
#include "tests/harness/centre_boxes.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

struct Known {
  Object object;
  bool difficult = false;
};

/// y of one image: `found` is evaluated class by class, best first.
void judge(std::vector<Object> found, const std::vector<Known>& known, int classes, double threshold, double nms,
           double* y) {
  for (const Known& k : known)
    if (!k.difficult) y[k.object.label] += 1;
  std::stable_sort(found.begin(), found.end(), [](const Object& a, const Object& b) { return a.score > b.score; });
  std::map<int, std::vector<Object>> kept;
  std::vector<Object> all;
  for (const Object& f : found) {
    if (nms >= 0 && std::any_of(all.begin(), all.end(), [&](const Object& k) { return overlap(k, f) > nms; })) continue;
    all.push_back(f);
    kept[f.label].push_back(f);
  }
  double* to = y + classes;
  for (const auto& [label, boxes] : kept) {
    std::vector<bool> done(known.size(), false);
    for (const Object& box : boxes) {
      int best = -1;
      double most = -1;
      for (size_t k = 0; k < known.size(); ++k)
        if (known[k].object.label == label && overlap(box, known[k].object) > most)
          best = int(k), most = overlap(box, known[k].object);
      const bool finds = best >= 0 && most >= threshold;
      const bool right = finds && !known[size_t(best)].difficult && !done[size_t(best)];
      if (right) done[size_t(best)] = true;
      const double row[4] = {double(label), box.score, double(right),
                             double(!right && !(finds && known[size_t(best)].difficult))};
      to = std::copy(row, row + 4, to);
    }
  }
}

double score_of(const std::string& type, double own, double of_class) {
  return type == "OBJ" ? own : type == "PROB" ? of_class : own * of_class;
}

// ---- YOLO v1: 3 x 3 cells, 2 classes, 2 boxes

constexpr int64_t kCells = 9;

Array labels_of_cells() {
  Array labels({2, 7 * kCells});
  const auto put = [&](int64_t image, int64_t cell, bool difficult, int label, const std::vector<double>& box) {
    const size_t at = size_t(image * 7 * kCells);
    labels[at + size_t(cell)] = difficult;
    labels[at + size_t(kCells + cell)] = 1;
    labels[at + size_t(2 * kCells + cell)] = label;
    for (size_t i = 0; i < 4; ++i) labels[at + size_t(3 * kCells + 4 * cell) + i] = float(box[i]);
  };
  put(0, 1, false, 0, {0.5, 0.2, 0.3, 0.3});
  put(0, 4, true, 1, {0.5, 0.5, 0.4, 0.3});
  put(0, 8, false, 1, {0.8, 0.9, 0.3, 0.2});
  put(1, 0, false, 0, {0.2, 0.1, 0.3, 0.4});
  return labels;
}

struct CellOptions {
  bool roots = true, in_cell = true;
  std::string score = "MULTIPLY";
  double nms = -1;
};

Array reference_of_cells(const Array& x, const Array& labels, const CellOptions& o) {
  Array y({2, 2 + kCells * 2 * 4});
  for (int64_t n = 0; n < 2; ++n) {
    const double *in = &x.values[size_t(n * 12 * kCells)], *label = &labels.values[size_t(n * 7 * kCells)];
    std::vector<Known> known;
    std::vector<Object> found;
    for (int64_t cell = 0; cell < kCells; ++cell) {
      const double* box = label + 3 * kCells + 4 * cell;
      if (label[kCells + cell] != 0)
        known.push_back({{n, int(label[2 * kCells + cell]), box[0], box[1], box[2], box[3]}, label[cell] == 1});
      const int best = in[kCells + cell] > in[cell] ? 1 : 0;
      for (int64_t k = 0; k < 2; ++k) {
        const auto number = [&](int64_t c) { return in[(4 + 4 * k + c) * kCells + cell]; };
        Object f = {n, best, number(0), number(1), number(2), number(3)};
        if (o.in_cell) f.x = (double(cell % 3) + f.x) / 3, f.y = (double(cell / 3) + f.y) / 3;
        if (o.roots) f.w *= f.w, f.h *= f.h;
        f.score = score_of(o.score, in[(2 + k) * kCells + cell], in[best * kCells + cell]);
        found.push_back(f);
      }
    }
    judge(found, known, 2, 0.3, o.nms, &y.values[size_t(n) * y.size() / 2]);
  }
  return y;
}

void check_cells(const CellOptions& o) {
  const std::string layer = "type: 'EvalDetection' eval_detection_param { side: 3 num_class: 2 threshold: 0.3 sqrt: " +
                            std::string(o.roots ? "true" : "false") + " constriant: " + (o.in_cell ? "true" : "false") +
                            " score_type: " + o.score + " nms: " + std::to_string(o.nms) + " }";
  SCOPED_TRACE(layer);
  check_layer(
      {.layer = layer,
       .x = {random({2, 12 * kCells}, 1, 0.2, 0.8), labels_of_cells(), random({2, 3, 6, 6}, 2)},
       .reference = [=](const Arrays& x, const Arrays&) -> Arrays { return {reference_of_cells(x[0], x[1], o)}; }});
}

TEST(EvalDetection, EvaluatesBoxesOfCells) {
  check_cells({});
  check_cells({.nms = 0.4});
  check_cells({.score = "OBJ"});
  // Without distinct scores (with PROB both boxes of a cell have the same) the first is better.
  check_cells({.score = "PROB", .nms = 0.2});
  check_cells({.roots = false, .in_cell = false, .nms = 0.5});
}

TEST(EvalDetection, IgnoresDifficultObjects) {
  Array x({1, 6}, {1, 0.9, 0.5, 0.5, 0.5, 0.5}), labels({1, 7}, {1, 1, 0, 0.5, 0.5, 0.5, 0.5});
  const auto y = [&] {
    LayerRun run("type: 'EvalDetection' eval_detection_param { side: 1 num_class: 1 num_object: 1 sqrt: false }",
                 {x, labels});
    run.forward();
    return run.y()[0].values;
  };
  const double score = double(0.9f);
  EXPECT_EQ(y(), (std::vector<double>{0, 0, score, 0, 0}));
  labels[0] = 0;
  EXPECT_EQ(y(), (std::vector<double>{1, 0, score, 1, 0}));
  labels[1] = 0;
  EXPECT_EQ(y(), (std::vector<double>{0, 0, score, 0, 1}));
}

// ---- YOLO v2

TEST(EvalDetection, EvaluatesBoxesOfAnchors) {
  const double anchors[2][2] = {{0.8, 1.2}, {2.5, 1.5}};
  const std::vector<Object> objects = {
      {0, 1, 0.3, 0.7, 0.5, 0.5}, {0, 1, 0.6, 0.3, 0.5, 0.4}, {1, 0, 0.5, 0.5, 0.6, 0.6}};
  for (const double nms : {-1.0, 0.45})
    check_layer({.layer = "type: 'EvalDetection' eval_detection_param { num_class: 2 threshold: 0.2 biases: 0.8 "
                          "biases: 1.2 biases: 2.5 biases: 1.5 nms: " +
                          std::to_string(nms) + " }",
                 .x = {random({2, 14, 3, 4}, 1, -2, 2), by_image(objects, 2, 30)},
                 .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
                   Array y({2, 2 + 12 * 2 * 4});
                   for (int64_t n = 0; n < 2; ++n) {
                     std::vector<Known> known;
                     for (const Object& o : objects)
                       if (o.image == n) known.push_back({o});
                     std::vector<Object> found;
                     for (int64_t k = 0; k < 2; ++k)
                       for (int64_t cell = 0; cell < 12; ++cell) {
                         const auto number = [&](int64_t c) { return x[0][size_t(((n * 2 + k) * 7 + c) * 12 + cell)]; };
                         const int best = number(6) > number(5) ? 1 : 0;
                         const double p = sigmoid(number(5 + best) - number(6 - best));
                         found.push_back({n, best, (double(cell % 4) + sigmoid(number(0))) / 4,
                                          (double(cell / 4) + sigmoid(number(1))) / 3,
                                          std::exp(number(2)) * anchors[k][0] / 4,
                                          std::exp(number(3)) * anchors[k][1] / 3, sigmoid(number(4)) * p});
                       }
                     judge(found, known, 2, 0.2, nms, &y.values[size_t(n) * y.size() / 2]);
                   }
                   return {y};
                 }});
}

TEST(EvalDetection, ReportsTheInvalidObject) {
  Array labels = labels_of_cells();
  labels[2 * kCells + 8] = 2;
  const Arrays x = {random({2, 12 * kCells}, 1), labels};
  const std::string layer = "type: 'EvalDetection' eval_detection_param { side: 3 num_class: 2 }";
  for (const Device& device : tested_devices()) {
    LayerRun run(layer, x, {.device = device});
    run.forward();
    EXPECT_TRUE(std::isnan(run.y()[0][0]));
    EXPECT_FALSE(std::isnan(run.y()[0][run.y()[0].size() / 2]));
  }
  try {
    LayerRun(layer, x).forward();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("an object of item 0 has class 2"), std::string::npos) << error.what();
  }
}

TEST(EvalDetection, ReportsErrors) {
  const std::string param = "eval_detection_param";
  const auto refuses = [&](const std::string& options, const std::vector<Shape>& x, const std::string& field,
                           const std::string& words) {
    expect_field_error("type: 'EvalDetection' " + param + " { " + options + " }", x, field, words);
  };
  const std::vector<Shape> sound = {{1, 108}, {1, 63}};
  refuses("side: 0", sound, param + ".side", "it is 0, but must be 1 to");
  refuses("side: 4294967295", sound, param + ".side", "it is 4294967295, but must be 1 to");
  refuses("num_class: 0", sound, param + ".num_class", "it is 0");
  refuses("side: 3 num_class: 3", sound, "bottom[0]", "its shape is 1x108");
  refuses("side: 3 num_class: 2", {{1, 108}, {1, 62}}, "bottom[1]", "its shape is 1x62");
  refuses("num_class: 2 biases: 1", sound, param + ".biases[0]", "it has 1 numbers");
  refuses("num_class: 2 biases: 1 biases: 1", sound, param + ".biases", "1 anchor for 2 boxes");
  refuses("num_class: 2 num_object: 1 biases: 1 biases: 1", {{1, 7, 2, 2}, {1, 4}}, "bottom[1]", "its shape is 1x4");
}

}  // namespace
}  // namespace cortado::harness
