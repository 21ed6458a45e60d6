#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/error.h"
#include "tests/layers/fit_motion.h"
#include "tests/layers/pair_folder.h"

namespace cortado::harness {
namespace {

struct Listed {
  double x, y, width, height;
  int64_t label = 1;
};
using ListedBoxes = std::vector<Listed>;

/// DIGITS' lists: rows of 16, the first of which is a head.
Array lists(const std::vector<ListedBoxes>& images, int64_t rows) {
  Array to({int64_t(images.size()), 1, rows, 16}, 0.0);
  for (size_t n = 0; n < images.size(); ++n) {
    double* row = &to.values[n * size_t(rows) * 16];
    row[0] = double(images[n].size()), row[1] = 16;
    for (const Listed& box : images[n]) {
      row += 16;
      row[0] = box.x, row[1] = box.y, row[2] = box.width, row[3] = box.height, row[5] = double(box.label);
      row[8] = 0.5;  // the truncation, which is not read
    }
  }
  return to;
}

struct GridOptions {
  int64_t width = 64, height = 32, stride = 8, classes = 1;
  double scale = 0.5, least = 0, most = 50;
  bool min = false, norm = false, crop = true;
  std::map<int64_t, int64_t> mapping = {{1, 0}};

  std::string text() const {
    std::string text = "detectnet_groundtruth_param { stride: " + std::to_string(stride) +
                       " scale_cvg: " + std::to_string(scale) + " image_size_x: " + std::to_string(width) +
                       " image_size_y: " + std::to_string(height) + " min_cvg_len: " + std::to_string(int(least)) +
                       " max_cvg_len: " + std::to_string(int(most)) +
                       " gridbox_type: " + (min ? "GRIDBOX_MIN" : "GRIDBOX_MAX") +
                       " obj_norm: " + (norm ? "true" : "false") + " crop_bboxes: " + (crop ? "true" : "false");
    for (const auto& [from, to] : mapping)
      text += " object_class { src: " + std::to_string(from) + " dst: " + std::to_string(to) + " }";
    return text + " } ";
  }
};

std::string layer(const GridOptions& options, const std::string& rest = "") {
  return "type: 'DetectNetTransformation' " + options.text() + rest;
}

/// The numbers of each cell, from the definition: the last box whose coverage overlaps the cell.
Array expected_grid(const GridOptions& options, const ListedBoxes& boxes) {
  const int64_t rows = options.height / options.stride, columns = options.width / options.stride;
  const size_t places = size_t(rows * columns), numbers = size_t(8 + options.classes);
  const double stride = double(options.stride);
  Array grid({int64_t(numbers), rows, columns}, 0.0);
  for (size_t p = 0; p < places; ++p)
    for (const Listed& box : boxes) {
      const auto mapped = options.mapping.find(box.label);
      if (mapped == options.mapping.end()) continue;
      double edges[] = {box.x, box.y, box.x + box.width, box.y + box.height};
      for (size_t i = 0; i < 4 && options.crop; ++i)
        edges[i] = std::clamp(edges[i], 0.0, double(i % 2 == 0 ? options.width : options.height));
      const double cell[] = {double(int64_t(p) % columns) * stride, double(int64_t(p) / columns) * stride};
      double area = 1, covered = 1;
      for (size_t axis = 0; axis < 2; ++axis) {
        const double side = edges[axis + 2] - edges[axis], middle = (edges[axis] + edges[axis + 2]) / 2;
        if (side <= 0) area = 0;
        double length = options.scale * side;
        length = options.min ? std::min(side, std::max(options.least, length)) : std::min(options.most, length);
        const double low = std::max(cell[axis], middle - length / 2);
        const double high = std::min(cell[axis] + stride, middle + length / 2);
        area *= std::max(0.0, high - low), covered *= length;
      }
      if (area < 1e-6 * stride * stride) continue;
      for (size_t i = 0; i < numbers; ++i) grid[i * places + p] = 0;
      grid[p] = 1;
      for (size_t i = 0; i < 4; ++i) grid[(1 + i) * places + p] = edges[i] - cell[i % 2];
      grid[5 * places + p] = 1 / (edges[2] - edges[0]);
      grid[6 * places + p] = 1 / (edges[3] - edges[1]);
      grid[7 * places + p] = std::max(options.norm ? 0.0 : 1.0, stride * stride / covered);
      grid[size_t(8 + mapped->second) * places + p] = 1;
    }
  return grid;
}

/// One image whose channels are the column, the row, and 200.
Array places_image(int64_t height, int64_t width) {
  Array image({1, 3, height, width}, 200.0);
  const size_t pixels = size_t(height * width);
  for (size_t p = 0; p < pixels; ++p) {
    image[p] = double(int64_t(p) % width);
    image[pixels + p] = double(int64_t(p) / width);
  }
  return image;
}

void expect_grid(const Array& got, const Array& expected, double tolerance, const std::string& what) {
  Array plain = got;
  plain.shape = expected.shape;
  expect_near(plain, expected, tolerance, what);
}

const ListedBoxes kBoxes = {{3, 2, 30, 20},      {20.5, 10.25, 12, 9.5, 2}, {50, -4, 30, 20, 1},
                            {-9, 25, 12, 30, 2}, {0, 0, 64, 32, 7},         {70, 3, 9, 9},
                            {5, 5, 0, 9},        {40, 12, 16, 16, 2}};

TEST(DetectNetTransformation, LabelsTheGrid) {
  GridOptions options;
  options.mapping = {{1, 0}, {2, 2}}, options.classes = 3;
  for (const bool min : {false, true})
    for (const bool norm : {false, true})
      for (const bool crop : {false, true}) {
        options.min = min, options.norm = norm, options.crop = crop;
        options.scale = min ? 0.25 : 0.75, options.least = 11, options.most = 13;
        const ListedBoxes rest(kBoxes.begin() + 4, kBoxes.end());
        const Array image = places_image(32, 64);
        Array images({2, 3, 32, 64});
        std::copy_n(image.values.begin(), image.size(), images.values.begin());
        LayerRun run(layer(options), {images, lists({kBoxes, rest}, 9)}, {.phase = caffe::TEST, .backward = false});
        EXPECT_EQ(run.made().shapes.y, (std::vector<Shape>{{2, 3, 32, 64}, {2, 11, 4, 8}}));
        run.forward();
        EXPECT_EQ(run.y()[0].values, images.values);
        Array both({2, 11, 4, 8});
        const Array first = expected_grid(options, kBoxes), second = expected_grid(options, rest);
        std::copy_n(first.values.begin(), first.size(), both.values.begin());
        std::copy_n(second.values.begin(), second.size(), both.values.begin() + int64_t(first.size()));
        expect_near(run.y()[1], both, 1e-5, "grid");
        EXPECT_EQ(std::count(first.values.begin(), first.values.end(), 1.0) > 8, true);
      }
}

TEST(DetectNetTransformation, MapsTheFirstClassByDefault) {
  GridOptions options;
  const ListedBoxes boxes = {{3, 2, 30, 20, 1}, {30, 2, 30, 20, 0}};
  const Array expected = expected_grid(options, boxes);
  options.mapping = {};
  LayerRun run(layer(options), {places_image(32, 64), lists({boxes}, 3)}, {.phase = caffe::TEST, .backward = false});
  run.forward();
  expect_grid(run.y()[1], expected, 1e-5, "grid");
}

TEST(DetectNetTransformation, ScalesToTheNetInTests) {
  const GridOptions options;
  const ListedBoxes boxes = {{10, 10, 60, 30}};
  LayerRun run(layer(options, "detectnet_augmentation_param { flip_prob: 1 }"),
               {places_image(64, 96), lists({boxes}, 2)}, {.phase = caffe::TEST, .backward = false});
  run.forward();
  expect_grid(run.y()[1], expected_grid(options, {{10 / 1.5, 5, 40, 15}}), 1e-5, "grid");
  const Array& y = run.y()[0];
  for (size_t h = 4; h < 28; ++h)
    for (size_t w = 4; w < 60; ++w) {
      EXPECT_NEAR(y[h * 64 + w], (double(w) + 0.5) * 1.5 - 0.5, 0.06);
      EXPECT_NEAR(y[(32 + h) * 64 + w], (double(h) + 0.5) * 2 - 0.5, 1e-4);
      EXPECT_NEAR(y[(64 + h) * 64 + w], 200, 1e-3);
    }
}

TEST(DetectNetTransformation, InterpolatesByCubicConvolution) {
  const GridOptions options;
  const Array x = random({1, 3, 23, 17}, 5, 0, 255);
  LayerRun run(layer(options), {x, lists({{}}, 2)}, {.phase = caffe::TEST, .backward = false});
  run.forward();
  Array expected({1, 3, 32, 64});
  for (size_t i = 0; i < expected.size(); ++i) {
    const size_t c = i / (32 * 64), h = i / 64 % 32, w = i % 64;
    const auto clamped = [](int at, int size) { return size_t(std::clamp(at, 0, size - 1)); };
    expected[i] = cubic_at((double(h) + 0.5) * 23 / 32 - 0.5, [&](int row) {
      return cubic_at((double(w) + 0.5) * 17 / 64 - 0.5,
                      [&](int column) { return x[(c * 23 + clamped(row, 23)) * 17 + clamped(column, 17)]; });
    });
  }
  expect_near(run.y()[0], expected, 1e-5, "image");
}

constexpr int64_t kSeenHeight = 80, kSeenWidth = 112;

/// What one pass of training shows of an image of kSeenHeight x kSeenWidth, 64 x 32.
struct Seen {
  Array grid;
  std::vector<double> motion;
};

Seen see(const GridOptions& options, const std::string& augment, const ListedBoxes& boxes, uint64_t pass) {
  LayerRun run(
      layer(options, "detectnet_augmentation_param { hue_rotation_prob: 0 desaturation_prob: 0 " + augment + " }"),
      {places_image(kSeenHeight, kSeenWidth), lists({boxes}, 4)}, {.backward = false, .pass = pass});
  run.forward();
  return {run.y()[1], fit_motion(run.y()[0], kSeenHeight, kSeenWidth)};
}

const ListedBoxes kSeenBoxes = {{30, 20, 33, 25}, {50, 40, 20, 17, 2}, {60, 30, 12, 9}};

/// The motion of pixels is found from the image that results. It predicts the boxes.
TEST(DetectNetTransformation, MovesBoxesWithPixels) {
  GridOptions options;
  options.mapping = {{1, 0}, {2, 1}}, options.classes = 2;
  std::set<bool> flips;
  std::set<double> widths, lefts, tops;
  for (uint64_t pass = 0; pass < 40; ++pass) {
    const Seen seen = see(options,
                          "flip_prob: 0.5 scale_prob: 0.7 scale_min: 0.8 scale_max: 1.25 rotation_prob: 0 shift_x: 6 "
                          "shift_y: 4 crop_prob: 0.9",
                          kSeenBoxes, pass);
    const std::vector<double>& m = seen.motion;
    EXPECT_NEAR(m[1], 0, 1e-3);
    EXPECT_NEAR(m[3], 0, 1e-3);
    const bool flip = m[0] < 0;
    const double width = std::round(kSeenWidth / std::fabs(m[0])), height = std::round(kSeenHeight / m[4]);
    const double by_x = width / kSeenWidth, by_y = height / kSeenHeight;
    EXPECT_NEAR(by_x, by_y, 0.02);
    const double first = flip ? kSeenWidth - m[2] - 0.5 : m[2] + 0.5;
    const double left = std::round(first * by_x - 0.5), top = std::round((m[5] + 0.5) * by_y - 0.5);
    EXPECT_NEAR(left, first * by_x - 0.5, 0.1);
    ListedBoxes moved = kSeenBoxes;
    for (Listed& box : moved) {
      if (flip) box.x = kSeenWidth - box.x - box.width - 1;
      box = {box.x * by_x - left, box.y * by_y - top, box.width * by_x, box.height * by_y, box.label};
    }
    expect_grid(seen.grid, expected_grid(options, moved), 1e-4, "pass " + std::to_string(pass));
    EXPECT_TRUE(width >= 89 && width <= 140) << width;
    EXPECT_TRUE(left >= -3 && left <= width - 64 + 3 && top >= -2 && top <= height - 32 + 2) << left << " " << top;
    flips.insert(flip), widths.insert(width), lefts.insert(left), tops.insert(top);
  }
  EXPECT_EQ(flips.size(), 2u);
  EXPECT_TRUE(widths.size() > 15 && widths.count(112) == 1) << widths.size();
  EXPECT_TRUE(lefts.size() > 20 && tops.size() > 15);
}

TEST(DetectNetTransformation, TurnsCentresOfBoxes) {
  const GridOptions options = {.least = 7, .min = true, .crop = false};
  std::set<double> turns;
  for (uint64_t pass = 0; pass < 12; ++pass) {
    const Seen seen = see(options, "flip_prob: 0 scale_prob: 0 rotation_prob: 1 max_rotate_degree: 20 crop_prob: 0",
                          kSeenBoxes, pass);
    const std::vector<double>& m = seen.motion;
    const double turn = std::atan2(m[1], m[0]), degrees = turn * 180 / M_PI;
    EXPECT_NEAR(m[0] * m[4] - m[1] * m[3], 1, 1e-3);
    EXPECT_LE(std::fabs(degrees), 20.01);
    turns.insert(degrees);
    // The same rotation, from its definition. A crop in the middle shows the centre of the image within a pixel.
    EXPECT_NEAR(m[0] * 31.5 + m[1] * 15.5 + m[2], kSeenWidth / 2.0, 1.6);
    EXPECT_NEAR(m[3] * 31.5 + m[4] * 15.5 + m[5], kSeenHeight / 2.0, 1.6);
    ListedBoxes moved = {kSeenBoxes[0], kSeenBoxes[2]};
    for (Listed& box : moved) {
      const double x = box.x + box.width / 2 - 0.5 - m[2];
      const double y = box.y + box.height / 2 - 0.5 - m[5];
      box.x = m[4] * x - m[1] * y + 0.5 - box.width / 2, box.y = -m[3] * x + m[0] * y + 0.5 - box.height / 2;
    }
    const Array expected = expected_grid(options, moved);
    size_t differing = 0;
    for (size_t i = 0; i < expected.size(); ++i) differing += std::fabs(seen.grid[i] - expected[i]) > 0.05;
    EXPECT_LE(differing, 9u) << "cells at the edge of a coverage may differ";
  }
  EXPECT_EQ(turns.size(), 12u);
}

struct Hsv {
  double hue, saturation, value;
};

Hsv hsv_of(double blue, double green, double red) {
  const double high = std::max({blue, green, red}), span = high - std::min({blue, green, red});
  double hue = high == red     ? 60 * (green - blue) / span
               : high == green ? 120 + 60 * (blue - red) / span
                               : 240 + 60 * (red - green) / span;
  if (hue < 0) hue += 360;
  return {hue, span / high, high};
}

TEST(DetectNetTransformation, ChangesColors) {
  const GridOptions options = {.width = 16, .height = 8};
  const Array x = random({1, 3, 8, 16}, 3, 5, 250);
  std::set<double> turns, factors;
  for (uint64_t pass = 0; pass < 20; ++pass) {
    LayerRun run(layer(options,
                       "detectnet_augmentation_param { hue_rotation_prob: 0.9 hue_rotation: 50 desaturation_prob: 0.9 "
                       "desaturation_max: 0.6 "
                       "flip_prob: 0 scale_prob: 0 rotation_prob: 0 crop_prob: 0 } transform_param { mean_value: 1 "
                       "mean_value: 2 mean_value: 3 }"),
                 {x, lists({{}}, 2)}, {.backward = false, .pass = pass});
    run.forward();
    const Array& y = run.y()[0];
    double turn = 0, factor = 0;
    for (size_t p = 0; p < 128; ++p) {
      const Hsv was = hsv_of(x[p], x[128 + p], x[256 + p]), is = hsv_of(y[p] + 1, y[128 + p] + 2, y[256 + p] + 3);
      const double by = std::remainder(is.hue - was.hue, 360);
      if (p == 0) turn = by, factor = is.saturation / was.saturation;
      EXPECT_NEAR(is.value, was.value, 1e-3);
      EXPECT_NEAR(by, turn, 0.05);
      EXPECT_NEAR(is.saturation, factor * was.saturation, 1e-5);
    }
    EXPECT_LE(std::fabs(turn), 50.01);
    EXPECT_TRUE(factor > 0.399 && factor < 1.00001) << factor;
    turns.insert(turn), factors.insert(factor);
  }
  EXPECT_GT(turns.size(), 12u);
  EXPECT_GT(factors.size(), 12u);
}

TEST(DetectNetTransformation, SubtractsAMeanImage) {
  const PairFolder folder("detectnet");
  caffe::BlobProto mean;
  for (const int64_t dim : {3, 32, 64}) mean.mutable_shape()->add_dim(dim);
  for (int i = 0; i < 3 * 32 * 64; ++i) mean.add_data(float(i % 97));
  folder.write("mean.binaryproto", mean.SerializeAsString());
  const std::string transform = "transform_param { mean_file: '" + folder.path("mean.binaryproto") + "' }";
  const Array x = random({1, 3, 32, 64}, 3, 5, 250);
  LayerRun run(layer({}, transform), {x, lists({{}}, 2)}, {.phase = caffe::TEST, .backward = false});
  run.forward();
  Array expected = x;
  for (size_t i = 0; i < expected.size(); ++i) expected[i] -= double(i % 97);
  expect_near(run.y()[0], expected, 1e-5, "image");
}

TEST(DetectNetTransformation, ReportsListsThatAreNone) {
  const auto grid_of = [](size_t number, double value, const Device& device) {
    Array list = lists({{{3, 2, 30, 20}}}, 2);
    list[number] = value;
    LayerRun run(layer({}), {places_image(32, 64), list}, {.device = device, .phase = caffe::TEST, .backward = false});
    if (run.context().shares_host_memory()) {
      EXPECT_THROW(run.validate(), Error) << number;
      return;
    }
    run.forward();
    EXPECT_TRUE(std::isnan(run.y()[1][9])) << number;
    EXPECT_THROW(run.validate(), Error) << number;
  };
  std::vector<Device> devices = tested_devices();
  devices.push_back({});
  for (const Device& device : devices) {
    for (const double count : {-1.0, 2.0, double(NAN), 1e30}) grid_of(0, count, device);
    grid_of(1, 15, device);
    for (const size_t number : {16, 18, 21}) grid_of(number, NAN, device);
    grid_of(17, INFINITY, device);
  }
}

TEST(DetectNetTransformation, ReportsErrors) {
  const std::vector<Shape> x = {{2, 3, 32, 64}, {2, 1, 4, 16}};
  const auto expect_truth = [&](const std::string& options, const std::string& field, const std::string& words) {
    expect_field_error("type: 'DetectNetTransformation' detectnet_groundtruth_param { " + options + " }", x,
                       "detectnet_groundtruth_param." + field, words);
  };
  expect_truth("stride: 0", "stride", "0");
  expect_truth("stride: 16 image_size_x: 100", "image_size_x", "not a multiple");
  expect_truth("image_size_y: 100000", "image_size_y", "100000");
  expect_truth("scale_cvg: nan", "scale_cvg", "nan");
  expect_truth("object_class { src: 1 dst: 4000000000 }", "object_class[0].dst", "4000000000");
  const auto expect_augment = [&](const std::string& options, const std::string& field, const std::string& words) {
    expect_field_error(layer({}, "detectnet_augmentation_param { " + options + " }"), x,
                       "detectnet_augmentation_param" + (field.empty() ? "" : "." + field), words);
  };
  expect_augment("crop_prob: 2", "crop_prob", "must be in [0, 1]");
  expect_augment("hue_rotation_prob: nan", "hue_rotation_prob", "nan");
  expect_augment("hue_rotation: -3", "hue_rotation", "-3");
  expect_augment("scale_min: 2", "scale_max", "1");
  expect_augment("scale_min: 0.001", "scale_min", "nothing remains");
  expect_augment("scale_max: 1000", "scale_max", "pixels a side");
  expect_augment("shift_x: 99999999", "shift_x", "99999999");
  expect_augment("expand_param { prob: 1 }", "", "changes nothing");
  expect_field_error(layer({}, "transform_param { mirror: true }"), x, "transform_param.mirror", "options of its own");
  expect_field_error(layer({}, "transform_param { mean_value: 1 mean_value: 2 }"), x, "transform_param.mean_value",
                     "2");
  expect_field_error(layer({}), {{2, 1, 32, 64}, x[1]}, "bottom[0]", "2x1x32x64");
  expect_field_error(layer({}), {x[0], {1, 1, 4, 16}}, "bottom[1]", "1x1x4x16");
  expect_field_error(layer({}), {x[0], {2, 1, 4, 15}}, "bottom[1]", "2x1x4x15");
}

}  // namespace
}  // namespace cortado::harness
