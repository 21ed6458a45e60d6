#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/error.h"
#include "layers/registry.h"
#include "layers/roles.h"
#include "tests/layers/object_pictures.h"

namespace cortado::harness {
namespace {

const std::string kBranch = "stride: 8 field_w: 16 field_h: 8 ";
const std::string kThreeTops = "top: 'data' top: 'label' top: 'boxes'";

class DetectionData : public ObjectPictures {
 protected:
  DetectionData() : ObjectPictures("detection_data") {}

  void write_two() const {
    write_picture("a.pgm", 10, 20, 22, 36);
    write_picture("b.pgm", 40, 4, 60, 16);
    write_list(
        "# 0\na.pgm\n3\n48\n64\n1\n5 0 1 10 20 22 36\n0\n"
        "# 1\nb.pgm\n3\n48\n64\n2\n6 0 0 40 4 60 16\n1 1 0 0 0 3 9\n0\n");
  }
  /// Grey pictures of these heights and widths, and their list; without objects.
  void write_sizes(const std::vector<std::pair<int, int>>& sizes) const {
    std::string list;
    for (size_t i = 0; i < sizes.size(); ++i) {
      const auto& [height, width] = sizes[i];
      const std::string name = "grey" + std::to_string(i) + ".pgm";
      std::ofstream(folder_ / name) << "P5 " << width << " " << height << " 255\n"
                                    << std::string(size_t(height) * size_t(width), char(50 + i));
      list += "# " + std::to_string(i) + "\n" + name + "\n3\n" + std::to_string(height) + "\n" + std::to_string(width) +
              "\n0\n0\n";
    }
    write_list(list);
  }

  std::string layer(const std::string& options, const std::string& transform = "",
                    const std::string& tops = kThreeTops) const {
    const std::string batch = options.find("batch_size") == std::string::npos ? " batch_size: 1" : "";
    return "type: 'DetectionData' " + tops + " transform_param { " + transform + " } detection_data_param { source: '" +
           (folder_ / "list").string() + "' root_folder: '" + folder_.string() + "/' " + options + batch + " }";
  }
  std::string with_boxes(const std::string& options, const std::string& transform = "") const {
    return layer(kBranch + "output_gt_boxes: true " + options, transform);
  }
};

struct ListedObject {
  double x0, y0, x1, y1, label;
  bool ignored = false;
};

double area_of(const ListedObject& a) { return (a.x1 - a.x0 + 1) * (a.y1 - a.y0 + 1); }
double common_area(const ListedObject& a, const ListedObject& b) {
  const double width = std::min(a.x1, b.x1) - std::max(a.x0, b.x0) + 1;
  const double height = std::min(a.y1, b.y1) - std::max(a.y0, b.y0) + 1;
  return width > 0 && height > 0 ? width * height : 0;
}

/// The labels of a branch of square templates; objects without a position are none of this.
Array labels_of(const std::vector<ListedObject>& objects, const ListedObject& region, int64_t height, int64_t width,
                double stride, double side, double threshold) {
  const size_t places = size_t(height * width);
  Array labels({1, 6, height, width}, 0.0);
  for (size_t p = 0; p < places; ++p) {
    const double x = (double(int64_t(p) % width) + 0.5) * stride, y = (double(int64_t(p) / width) + 0.5) * stride;
    const ListedObject field = {x - side / 2, y - side / 2, x + side / 2, y + side / 2, 0};
    double best = 0;
    const ListedObject* match = nullptr;
    for (const ListedObject& object : objects) {
      const double common = common_area(object, field), overlap = common / (area_of(object) + area_of(field) - common);
      if (overlap > best) best = overlap, match = &object;
    }
    labels[5 * places + p] = best;
    if (best > threshold) {
      const double numbers[] = {match->ignored ? 0 : match->label, (match->x0 + match->x1) / 2,
                                (match->y0 + match->y1) / 2, match->x1 - match->x0 + 1, match->y1 - match->y0 + 1};
      for (size_t i = 0; i < 5; ++i) labels[i * places + p] = numbers[i];
    } else if (common_area(field, region) / area_of(field) >= 0.4) {
      labels[5 * places + p] = 1;
    }
  }
  return labels;
}

TEST_F(DetectionData, LabelsPositionsAndListsObjects) {
  std::ofstream(folder_ / "grey.pgm") << "P5 32 16 255\n" << std::string(512, char(50));
  write_list(
      "# 0\ngrey.pgm\n3\n16\n32\n4\n2 0 1 1 0 9 8\n3 0 0 18 10 22 14\n1 1 0 24 0 32 8\n1 0 0 9 8 15 14\n1\n8 7 17 17\n"
      "# 1\ngrey.pgm\n3\n16\n32\n0\n0\n");
  LayerRun run(layer("batch_size: 2 crop_width: 32 crop_height: 16 stride: 8 stride: 16 field_w: 8 field_w: 16 "
                     "field_h: 8 field_h: 16 output_gt_boxes: true pickup_iou_thr: 0.9",
                     "mean_value: 1 mean_value: 2 mean_value: 3 scale: 2", "top: 'd' top: 'a' top: 'b' top: 'g'"),
               {}, {.backward = false});
  EXPECT_EQ(run.made().shapes.y, (std::vector<Shape>{{2, 3, 16, 32}, {2, 6, 2, 4}, {2, 6, 1, 2}, {8, 8, 1, 1}}));
  run.forward();
  Array images({2, 3, 16, 32}, 0);
  for (size_t i = 0; i < images.values.size(); ++i) images.values[i] = 2 * (49 - double(i / 512 % 3));
  expect_near(run.y()[0], images, 0, "images");
  const std::vector<ListedObject> objects = {
      {1, 0, 9, 8, 2}, {18, 10, 22, 14, 3}, {24, 0, 32, 8, 1, true}, {9, 8, 15, 14, 1}};
  const ListedObject region = {8, 7, 17, 17, 0};
  for (const size_t top : {1, 2}) {
    const double stride = 8 * double(top);
    Array expected = labels_of(objects, region, top == 1 ? 2 : 1, top == 1 ? 4 : 2, stride, stride, 0.5);
    const size_t count = expected.size();
    EXPECT_EQ(expected[count - 1] == 0, false);
    expected.shape = run.y()[top].shape;
    expected.values.resize(2 * count);  // the second image has no objects
    expect_near(run.y()[top], expected, 1e-6, "labels");
  }
  EXPECT_EQ(run.y()[1][5], 1) << "an object in an ignored region is an object";
  Array rows({8, 8, 1, 1}, -1);
  for (size_t r = 0; r < 4; ++r) {
    const ListedObject& o = objects[r];
    const double row[8] = {0, o.x0, o.y0, o.x1, o.y1, o.label, o.ignored ? 1. : 0, r == 0 ? 1. : 0};
    std::copy_n(row, 8, rows.values.begin() + int64_t(8 * r));
  }
  expect_near(run.y()[3], rows, 0, "objects");
}

TEST_F(DetectionData, GivesUnmatchedObjectsAPosition) {
  write_two();
  const auto label = [&](const std::string& options) {
    LayerRun run(with_boxes("crop_width: 64 crop_height: 48 fg_threshold: 0.9 " + options), {}, {.backward = false});
    run.forward();
    const double* place = &run.y()[1].values[3 * 8 + 2];  // the centre, (16, 28)
    return std::vector<double>{place[0], place[48], place[2 * 48], place[3 * 48], place[4 * 48], place[5 * 48]};
  };
  // The best template of 16 x 8 is around (12, 28) or (20, 28): 11 x 9 of the object's 13 x 17 pixels.
  const std::vector<double> found = label("pickup_iou_thr: 0.3");
  EXPECT_EQ(std::vector<double>(found.begin(), found.begin() + 5), (std::vector<double>{5, 16, 28, 13, 17}));
  EXPECT_NEAR(found[5], 99. / (221 + 153 - 99), 1e-6);
  EXPECT_EQ(label("pickup_iou_thr: 0.4")[0], 0);
  for (const char* least : {"min_gt_height: 17.5", "min_gt_width: 13.5"}) EXPECT_EQ(label(least)[0], 0) << least;
}

TEST_F(DetectionData, IgnoresTemplatesOutsideOfTheImage) {
  write_sizes({{48, 64}});
  const auto unclear = [&](const std::string& options) {
    LayerRun run(layer(kBranch + "crop_width: 64 crop_height: 48 " + options, "", "top: 'data' top: 'label'"), {},
                 {.backward = false});
    run.forward();
    const auto begin = run.y()[1].values.begin() + 5 * 48;
    return std::vector<double>(begin, begin + 8);  // of the first row
  };
  EXPECT_EQ(unclear(""), std::vector<double>(8));
  EXPECT_EQ(unclear("anchor_ignore_margin_ratio: 0.25"), (std::vector<double>{1, 0, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(unclear("anchor_ignore_margin_ratio: 0.5"), (std::vector<double>{0, 0, 0, 0, 0, 0, 0, 1}))
      << "the last pixel counts";
  // 13 x 9 of 17 x 9 pixels are in the image.
  EXPECT_EQ(unclear("anchor_ignore_iou_thr: 0.75"), std::vector<double>(8));
  EXPECT_EQ(unclear("anchor_ignore_iou_thr: 0.78"), (std::vector<double>{1, 0, 0, 0, 0, 0, 0, 1}));
}

/// The height and width of the part of image n that is not padding.
std::pair<int64_t, int64_t> shown(const Array& images, int64_t n) {
  int64_t top = images.shape[2], bottom = 0, left = images.shape[3], right = 0;
  for (int64_t y = 0; y < images.shape[2]; ++y)
    for (int64_t x = 0; x < images.shape[3]; ++x) {
      if (pixel(images, n, y, x) == 0) continue;
      top = std::min(top, y), bottom = std::max(bottom, y + 1), left = std::min(left, x),
      right = std::max(right, x + 1);
    }
  return {bottom - top, right - left};
}

TEST_F(DetectionData, ResizesToTheShorterSide) {
  write_sizes({{50, 80}, {100, 50}, {60, 60}});
  LayerRun run(layer("batch_size: 3 short_size: 70 long_size: 100 stride: 16 field_w: 16 field_h: 16", "",
                     "top: 'data' top: 'label'"),
               {}, {.backward = false});
  run.forward();
  // Multiples of 32: 64 and 96. The second would be 128 high.
  EXPECT_EQ(run.y()[0].shape, (Shape{3, 3, 96, 96}));
  EXPECT_EQ(run.y()[1].shape, (Shape{3, 6, 6, 6}));
  EXPECT_EQ(shown(run.y()[0], 0), (std::pair<int64_t, int64_t>{64, 96}));
  EXPECT_EQ(shown(run.y()[0], 1), (std::pair<int64_t, int64_t>{96, 64}));
  for (size_t h = 0; h < 6; ++h)
    for (size_t w = 0; w < 6; ++w) EXPECT_EQ(run.y()[1][5 * 36 + 6 * h + w], h < 4 ? 0 : 1) << h << " " << w;
  std::set<int64_t> ratios;
  LayerRun drawn(layer("short_size: 64 long_size: 96 template_ratio: 0.5 template_ratio: 1.5", "", "top: 'data'"), {},
                 {.backward = false});
  EXPECT_EQ(drawn.made().shapes.y[0], (Shape{1, 3, 160, 160})) << "144 is halfway between multiples";
  for (int i = 0; i < 12; ++i) {
    drawn.forward();
    if (i % 3 == 0) ratios.insert(shown(drawn.y()[0], 0).first);
  }
  EXPECT_EQ(ratios, (std::set<int64_t>{32, 96}));
}

TEST_F(DetectionData, HasTheSizeOfTheOptionsOrOfTheLargestImage) {
  write_sizes({{50, 80}, {100, 50}});
  const auto size = [&](const std::string& options) {
    LayerRun run(layer("batch_size: 2 " + options, "", "top: 'data'"), {}, {.backward = false});
    run.forward();
    return std::pair(run.y()[0].shape, std::pair(shown(run.y()[0], 0), shown(run.y()[0], 1)));
  };
  using Two = std::pair<std::pair<int64_t, int64_t>, std::pair<int64_t, int64_t>>;
  EXPECT_EQ(size(""), std::pair(Shape({2, 3, 100, 80}), Two({50, 80}, {100, 50})));
  EXPECT_EQ(size("resize_ratio: 0.5"), std::pair(Shape({2, 3, 50, 40}), Two({25, 40}, {50, 25})));
  EXPECT_EQ(size("resize_width: 30 resize_height: 20"), std::pair(Shape({2, 3, 20, 30}), Two({20, 30}, {20, 30})));
  EXPECT_EQ(size("crop_width: 30 crop_height: 20"), std::pair(Shape({2, 3, 20, 30}), Two({20, 30}, {20, 30})));
  EXPECT_EQ(size("crop_short_size: 20 crop_long_size: 40"), std::pair(Shape({2, 3, 40, 40}), Two({20, 40}, {40, 20})));
}

/// The object of image n: its first row.
const double* row_of(const Array& rows, int64_t n) {
  for (size_t r = 0; r < rows.size() / 8; ++r)
    if (rows[8 * r] == double(n)) return &rows.values[8 * r];
  throw std::out_of_range("no object");
}

TEST_F(DetectionData, BoxesMatchThePixels) {
  write_two();
  LayerRun run(with_boxes("batch_size: 2 crop_width: 40 crop_height: 32", "mirror: true"), {}, {.backward = false});
  std::set<double> lefts;
  std::set<float> first;
  for (int i = 0; i < 12; ++i) {
    run.forward();
    for (int64_t n = 0; n < 2; ++n) {
      const Box box = box_of(row_of(run.y()[2], n));
      expect_box_of_bright_pixels(run.y()[0], n, box, 0);
      lefts.insert(box.x0);
      if (box.x0 >= 0 && box.x0 < 40 && box.y0 >= 0) first.insert(pixel(run.y()[0], n, int(box.y0), int(box.x0)));
    }
  }
  EXPECT_GT(lefts.size(), 5u) << "crops differ";
  EXPECT_EQ(first, (std::set<float>{kLeft, kRight})) << "mirrored or not";
}

TEST_F(DetectionData, BoxesFollowTheScale) {
  write_two();
  const auto sides = [&](const std::string& options) {
    LayerRun run(with_boxes("crop_width: 72 crop_height: 64 " + options), {}, {.backward = false});
    std::vector<std::pair<float, float>> found;
    for (int i = 0; i < 60; ++i) {
      run.forward();
      if (i % 2 == 1) continue;  // the second image
      const Box box = box_of(row_of(run.y()[2], 0));
      expect_box_of_bright_pixels(run.y()[0], 0, box, 2.5f);
      found.emplace_back(box_width(box), box_height(box));
    }
    return found;
  };
  std::set<float> heights;
  for (const auto& [width, height] : sides("multiscale_prob: 1 low_scale_ratio: 0.5 high_scale_ratio: 2")) {
    EXPECT_NEAR(width / height, 0.75, 1e-3);
    EXPECT_TRUE(height >= 8 && height <= 32) << height;
    heights.insert(height);
  }
  EXPECT_GT(*heights.rbegin() / *heights.begin(), 2);
  for (const auto& [width, height] : sides("multiscale_prob: 1 min_scale: 10 max_scale: 20")) {
    const float factor = height / 16, side = factor * std::sqrt(13.f * 17);
    EXPECT_TRUE(side > 9.9f && side < 20.1f) << side;
  }
  std::set<float> aspects;
  for (const auto& [width, height] :
       sides("multiscale_prob: 1 low_scale_ratio: 1 high_scale_ratio: 1 min_whaspect: 0.5 max_whaspect: 2")) {
    aspects.insert(width / height / 0.75f);
    EXPECT_NEAR(width * height, 12 * 16, 0.1);
  }
  EXPECT_TRUE(*aspects.begin() < 0.8f && *aspects.rbegin() > 1.25f);
  EXPECT_EQ(sides("low_scale_ratio: 2 high_scale_ratio: 2 multiscale_prob: 0")[0].second, 16);
}

TEST_F(DetectionData, DistortsColours) {
  write_sizes({{48, 64}});
  LayerRun run(layer("distort_param { brightness_prob: 1 brightness_delta: 20 }", "", "top: 'data'"), {},
               {.backward = false});
  std::set<double> values;
  for (int i = 0; i < 20; ++i) {
    run.forward();
    EXPECT_TRUE(run.y()[0][0] >= 30 && run.y()[0][0] <= 70);
    values.insert(run.y()[0][0]);
  }
  EXPECT_GT(values.size(), 5u);
}

TEST_F(DetectionData, OrdersImages) {
  // Pictures with an even number are higher than wide.
  std::vector<std::pair<int, int>> sizes;
  for (int i = 0; i < 12; ++i) sizes.emplace_back(i % 2 == 0 ? 40 : 20, 30);
  write_sizes(sizes);
  const auto epochs = [&](const std::string& options) {
    LayerRun run(layer("crop_width: 8 crop_height: 8 " + options, "", "top: 'data'"), {}, {.backward = false});
    std::vector<std::string> found;
    for (int epoch = 0; epoch < 8; ++epoch) {
      std::set<double> seen;
      std::string kinds;
      for (int i = 0; i < 12; ++i) {
        run.forward();
        const double number = run.y()[0][0] - 50;
        seen.insert(number);
        kinds += int(number) % 2 == 0 ? 'h' : 'w';
      }
      EXPECT_EQ(seen.size(), 12u) << "each image once";
      found.push_back(kinds);
    }
    return std::set<std::string>(found.begin(), found.end());
  };
  EXPECT_EQ(epochs(""), (std::set<std::string>{"hwhwhwhwhwhw"}));
  EXPECT_GT(epochs("shuffle: 'random'").size(), 4u);
  EXPECT_EQ(epochs("shuffle: 'random_aspect'"), (std::set<std::string>{"hhhhhhwwwwww", "wwwwwwhhhhhh"}));
  EXPECT_EQ(epochs("shuffle: 'random_mix_aspect' mix_group_size: 4"),
            (std::set<std::string>{"hhhhwwwwhhww", "wwwwhhhhwwhh"}));
}

TEST_F(DetectionData, TheSameBatchesComeAfterSeek) {
  write_two();
  const std::string text = with_boxes(
      "batch_size: 3 crop_width: 40 crop_height: 32 shuffle: 'random_aspect' low_scale_ratio: 0.5 "
      "high_scale_ratio: 2 distort_param { hue_prob: 0.5 hue_delta: 18 }",
      "mirror: true");
  LayerRun run(text, {}, {.backward = false});
  std::vector<Arrays> batches;
  for (int i = 0; i < 4; ++i) {
    run.forward();
    batches.push_back(run.y());
  }
  LayerRun again(text, {}, {.backward = false});
  for (const size_t i : {2, 0, 3}) {
    dynamic_cast<DataCursor&>(again.layer()).seek(3 * i);
    again.forward();
    for (size_t y = 0; y < 3; ++y) EXPECT_TRUE(same_bits(again.y()[y], batches[i][y])) << i << " " << y;
  }
}

TEST_F(DetectionData, KnowsShapesWithoutFiles) {
  const auto shapes = [&](const std::string& options) {
    const MadeLayer parsed(
        "type: 'Silence' detection_data_param { source: 'nowhere' batch_size: 2 output_gt_boxes: "
        "true " +
            kBranch + options + " }",
        "", {});
    caffe::LayerParameter config = parsed.config;
    config.set_type("DetectionData");
    for (const char* top : {"data", "label", "boxes"}) config.add_top(top);
    LayerOptions options_of{.config = config};
    options_of.open_data = false;
    return find_layer_type("DetectionData")->make(options_of)->infer({}).y;
  };
  EXPECT_EQ(shapes("short_size: 64 long_size: 96"), (std::vector<Shape>{{2, 3, 96, 96}, {2, 6, 12, 12}, {-1}}));
  EXPECT_EQ(shapes(""), (std::vector<Shape>{{-1}, {-1}, {-1}}));
}

TEST_F(DetectionData, ReportsErrors) {
  const std::string own = "detection_data_param.";
  write_sizes({{48, 64}});
  const auto expect = [&](const std::string& options, const std::string& field, const std::string& words,
                          const std::string& transform = "") {
    expect_field_error(with_boxes(options, transform), {}, field, words);
  };
  expect("batch_size: 0", own + "batch_size", "it is 0");
  expect("shuffle: 'all'", own + "shuffle", "'all', but must be random");
  expect("resize_ratio: 2 short_size: 9 long_size: 10", "detection_data_param", "several sizes");
  expect("resize_width: 0 resize_height: 9", own + "resize_width", "it is 0");
  expect("short_size: 10 long_size: 9", own + "long_size", "but short_size is 10");
  expect("resize_ratio: 0", own + "resize_ratio", "above 0");
  expect("template_ratio: nan", own + "template_ratio", "nan");
  expect("crop_width: 20000 crop_height: 9", own + "crop_width", "20000");
  expect("crop_width: 9 crop_height: 9 crop_short_size: 9 crop_long_size: 9", own + "crop_short_size", "as well");
  expect("coord_num: 5", own + "coord_num", "it is 5");
  expect("fg_threshold: 0", own + "fg_threshold", "above 0 and below 1");
  expect("min_gt_width: nan", own + "min_gt_width", "nan");
  expect("min_scale: 0 max_scale: 9", own + "min_scale", "above 0");
  expect("min_scale: 10 max_scale: 9", own + "max_scale", "it is 9");
  expect("low_scale_ratio: 1 high_scale_ratio: 1 min_scale: 1 max_scale: 9", own + "low_scale_ratio", "as well");
  expect("min_whaspect: 1 max_whaspect: 0.5", own + "max_whaspect", "0.5");
  expect("mix_group_size: 0", own + "mix_group_size", "it is 0");
  expect("stride: 8", own + "field_w", "it has 1 value, but stride has 2");
  expect("crop_width: 2 crop_height: 2", own + "stride", "leaves no position");
  expect("distort_param { hue_prob: 2 }", own + "distort_param.hue_prob", "2");
  expect("", "transform_param.crop_size", "crops and resizes images itself", "crop_size: 9");
  expect("", "transform_param.mean_value", "2 mean values", "mean_value: 9 mean_value: 8");
  expect_field_error(layer(kBranch, "", "top: 'data'"), {}, "top", "there are 1 tops, but must be 2");
  expect_field_error("type: 'DetectionData' top: 'a' detection_data_param { batch_size: 1 }", {}, own + "source",
                     "window file is missing");
  write_list("# 0\na.pgm\n3\n48\n64\n1\n1 0 2 1 1 2 2\n0\n");
  try {
    LayerRun(with_boxes(""), {}, {.backward = false});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("whether an object is difficult"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace cortado::harness
