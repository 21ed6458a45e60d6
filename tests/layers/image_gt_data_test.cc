#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/error.h"
#include "layers/registry.h"
#include "layers/roles.h"
#include "tests/layers/object_pictures.h"

namespace cortado::harness {
namespace {

class ImageGtData : public ObjectPictures {
 protected:
  ImageGtData() : ObjectPictures("image_gt_data") {}

  /// Two such pictures, and their list.
  void write_two() const {
    write_picture("a.pgm", 10, 20, 22, 36);
    write_picture("b.pgm", 40, 4, 60, 16);
    write_list(
        "# 0\na.pgm\n3\n48\n64\n1\n5 0 10 20 22 36\n0\n"
        "# 1\nb.pgm\n3\n48\n64\n2\n6 0 40 4 60 16\n1 1 0 0 3 9\n0\n");
  }

  std::string layer(const std::string& options, const std::string& transform = "",
                    const std::string& tops = "top: 'data' top: 'label' top: 'boxes'") const {
    return "type: 'ImageGtData' " + tops + " transform_param { " + transform + " } image_gt_data_param { source: '" +
           (folder_ / "list").string() + "' root_folder: '" + folder_.string() + "/' " + options + " }";
  }

  /// The error in a list.
  std::string mistake(const std::string& list) const {
    write_list(list);
    try {
      LayerRun(layer(kWhole), {}, {.backward = false}).forward();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kData);
      return error.what();
    }
    return "none";
  }

  static inline const std::string kWhole =
      "batch_size: 1 crop_width: 64 crop_height: 48 downsample_rate: 8 field_w: 8 field_h: 8 output_gt_boxes: true ";
};

/// The object of image n: its first row.
const double* object_of(const Array& rows, int64_t n) {
  for (size_t r = 0; r < rows.values.size() / 7; ++r)
    if (const double* row = &rows.values[7 * r]; row[0] == double(n) && row[5] > 1) return row;
  throw std::out_of_range("no object");
}

TEST_F(ImageGtData, LabelsPositionsAndListsObjects) {
  std::ofstream(folder_ / "grey.pgm") << "P5 32 16 255\n" << std::string(512, char(50));
  write_list(
      "# 0\ngrey.pgm\n3\n16\n32\n4\n2 0 1 0 9 8\n3 0 18 10 22 14\n1 1 24 0 32 8\n1 0 0 9 2 11\n1\n8 8 16 13\n"
      "# 1\ngrey.pgm\n3\n16\n32\n0\n0\n");
  LayerRun run(layer("batch_size: 2 crop_width: 32 crop_height: 16 downsample_rate: 8 downsample_rate: 16 field_w: 8 "
                     "field_w: 16 field_h: 8 field_h: 16 output_gt_boxes: true",
                     "mean_value: 1 mean_value: 2 mean_value: 3", "top: 'd' top: 'a' top: 'b' top: 'g'"),
               {}, {.backward = false});
  EXPECT_EQ(run.made().shapes.y, (std::vector<Shape>{{2, 3, 16, 32}, {2, 6, 2, 4}, {2, 6, 1, 2}, {8, 7, 1, 1}}));
  run.forward();
  Array images({2, 3, 16, 32}, 0);
  for (size_t i = 0; i < images.values.size(); ++i) images.values[i] = 49 - double(i / 512 % 3);
  expect_near(run.y()[0], images, 0, "images");
  // Matches; background; background; the ignored one. Barely matches; in a region; too small for the template, but
  // assigned here; background.
  Array fine({1, 6, 2, 4},
             {2, 0, 0, 0, 0, 0, 3, 0, 5, 0, 0, 28, 0, 0, 20, 0, 4,      0,       0, 4, 0,       0, 12,     0,
              8, 0, 0, 8, 0, 0, 4, 0, 8, 0, 0, 8,  0, 0, 4,  0, 7. / 9, 1. / 15, 0, 1, 1. / 16, 1, 1. / 4, 0});
  fine.values.resize(96);  // the second image has no objects
  fine.shape = {2, 6, 2, 4};
  expect_near(run.y()[1], fine, 1e-6, "labels of the first branch");
  Array coarse({2, 6, 1, 2}, 0);
  coarse.values[10] = coarse.values[11] = 0.25;
  expect_near(run.y()[2], coarse, 1e-6, "labels of the second branch");
  Array rows({8, 7, 1, 1}, 0);
  const double objects[4][7] = {
      {0, 1, 0, 9, 8, 2, 0}, {0, 18, 10, 22, 14, 3, 0}, {0, 24, 0, 32, 8, 1, 1}, {0, 0, 9, 2, 11, 1, 0}};
  for (size_t r = 0; r < 8; ++r)
    for (size_t i = 0; i < 7; ++i) rows.values[7 * r + i] = r < 4 ? objects[r][i] : i == 6 ? 1 : 0;
  expect_near(run.y()[3], rows, 0, "objects");
}

TEST_F(ImageGtData, IgnoresLowAndNarrowObjects) {
  write_two();
  for (const auto& [least, ignored] :
       {std::pair("height: 17", 0.0), {"height: 17.5", 1.0}, {"width: 13", 0.0}, {"width: 13.5", 1.0}}) {
    LayerRun run(layer(kWhole + "min_gt_" + least), {}, {.backward = false});
    run.forward();
    EXPECT_EQ(object_of(run.y()[2], 0)[6], ignored);
    const double* label = &run.y()[1].values[3 * 8 + 1];  // 48 of 64 + 192 - 48 pixels
    EXPECT_EQ(label[0], 0) << "which is less than fg_threshold";
    EXPECT_NEAR(label[5 * 48], 3. / 13, 1e-6);
    EXPECT_EQ(run.y()[1].values[3 * 8 + 2], ignored == 0 ? 5 : 0) << "the place of its centre";
  }
}

TEST_F(ImageGtData, BoxesMatchThePixels) {
  write_two();
  LayerRun run(layer("batch_size: 2 crop_width: 40 crop_height: 32 downsample_rate: 8 field_w: 16 field_h: 16 "
                     "output_gt_boxes: true",
                     "mirror: true"),
               {}, {.backward = false});
  std::set<double> lefts;
  std::set<float> first;
  for (int i = 0; i < 12; ++i) {
    run.forward();
    for (int64_t n = 0; n < 2; ++n) {
      const Box box = box_of(object_of(run.y()[2], n));
      EXPECT_EQ(box_width(box), n == 0 ? 12 : 20);
      expect_box_of_bright_pixels(run.y()[0], n, box, 0);
      lefts.insert(box.x0);
      if (box.x0 >= 0 && box.x0 < 40 && box.y0 >= 0) first.insert(pixel(run.y()[0], n, int(box.y0), int(box.x0)));
    }
  }
  EXPECT_GT(lefts.size(), 5u) << "crops differ";
  EXPECT_EQ(first, (std::set<float>{kLeft, kRight})) << "mirrored or not";
}

TEST_F(ImageGtData, BoxesFollowTheScale) {
  write_two();
  write_list("# 0\na.pgm\n3\n48\n64\n1\n5 0 10 20 22 36\n0\n");
  LayerRun run(layer("batch_size: 1 resize_width: 128 resize_height: 96 crop_width: 72 crop_height: 64 "
                     "do_multiple_scale: true min_scale: 16 max_scale: 64 downsample_rate: 8 field_w: 16 field_h: 16 "
                     "output_gt_boxes: true",
                     "mirror: true"),
               {}, {.backward = false});
  std::set<int> factors;  // in half octaves
  bool has_border = false;
  for (int i = 0; i < 100; ++i) {
    run.forward();
    const Box box = box_of(object_of(run.y()[2], 0));
    expect_box_of_bright_pixels(run.y()[0], 0, box, 1.5f);
    const float octaves = std::log2(box_height(box) / 32);
    EXPECT_NEAR(octaves * 2, std::round(octaves * 2), 1e-3);
    EXPECT_NEAR(box_width(box) / box_height(box), 0.75, 1e-3);
    factors.insert(int(std::round(octaves * 2)));
    if (pixel(run.y()[0], 0, 8, 8) != 0) continue;
    has_border = true;
    EXPECT_EQ(run.y()[1].values[5 * 72], 1) << "no image is there";
  }
  // Of the sides 16, 22.6, 32, 45.3 and 64 the third is closest to the root of 24 x 32, 27.7.
  EXPECT_EQ(factors, (std::set<int>{-2, -1, 0, 1, 2}));
  EXPECT_TRUE(has_border);
}

TEST_F(ImageGtData, TheSameBatchesComeAfterSeek) {
  write_two();
  const std::string text = layer(
      "batch_size: 3 crop_width: 40 crop_height: 32 shuffle: true do_multiple_scale: true min_scale: 8 max_scale: 32 "
      "downsample_rate: 8 field_w: 16 field_h: 16 output_gt_boxes: true",
      "mirror: true");
  LayerRun run(text, {}, {.backward = false});
  std::vector<Arrays> batches;
  for (int i = 0; i < 4; ++i) {
    run.forward();
    batches.push_back(run.y());
  }
  EXPECT_EQ(dynamic_cast<DataCursor&>(run.layer()).position(), 12u);
  LayerRun again(text, {}, {.backward = false});
  for (const size_t i : {2, 0, 3}) {
    dynamic_cast<DataCursor&>(again.layer()).seek(3 * i);
    again.forward();
    for (size_t y = 0; y < 3; ++y) EXPECT_TRUE(same_bits(again.y()[y], batches[i][y])) << i << " " << y;
  }
}

TEST_F(ImageGtData, ShufflesEachEpoch) {
  write_two();
  LayerRun run(layer(kWhole + "shuffle: true"), {}, {.backward = false});
  std::set<std::vector<double>> orders;
  for (int epoch = 0; epoch < 16; ++epoch) {
    std::vector<double> classes;
    for (int i = 0; i < 2; ++i) {
      run.forward();
      classes.push_back(object_of(run.y()[2], 0)[5]);
    }
    orders.insert(classes);
  }
  EXPECT_EQ(orders, (std::set<std::vector<double>>{{5, 6}, {6, 5}}));
}

TEST_F(ImageGtData, KnowsAllShapesExceptOneWithoutFiles) {
  const MadeLayer parsed("type: 'Silence' image_gt_data_param { source: 'nowhere' " + kWhole + " }", "", {});
  caffe::LayerParameter config = parsed.config;
  config.set_type("ImageGtData");
  for (const char* top : {"data", "label", "boxes"}) config.add_top(top);
  LayerOptions options{.config = config};
  options.open_data = false;
  EXPECT_EQ(find_layer_type("ImageGtData")->make(options)->infer({}).y,
            (std::vector<Shape>{{1, 3, 48, 64}, {1, 6, 6, 8}, {-1}}));
}

TEST_F(ImageGtData, ReportsErrorsOfTheFile) {
  write_two();
  const std::string head = "# 0\na.pgm\n3\n48\n64\n";
  const std::pair<std::string, const char*> mistakes[] = {
      {"", "the file lists no image"},
      {"0\n", "list:1:1: error: '0' where '#'"},
      {"# 0\na.pgm\n3\nx\n", "list:4:1: error: 'x' where the height is expected"},
      {head + "1\n0 0 1 1 2 2\n0\n", "list:7:1: error: an object's class, which is 1 or more, is 0"},
      {head + "1\n1 2 1 1 2 2\n0\n", "2 where 0 or 1 is expected"},
      {head + "1\n1 0.5 1 1 2 2\n0\n", "list:7:3: error: '0.5' where whether"},
      {head + "1\n1 0 5 1 2 2\n0\n", "x2 is 2"},
      {head + "1\n1 0 5 nan 7 2\n0\n", "y1 is nan"},
      {head + "1\n1 0 5 1 7 inf\n0\n", "beyond the maximum image size"},
      {head + "1\n1 0 1 1 2 2\n# 1\n", "list:8:1: error: '#' where the number of ignored regions is expected"},
      {head + "0\n1\n1 1 2", "the file ends where y2 is expected"},
      {"# 0\nnone.pgm\n3\n48\n64\n0\n0\n", "list:2:1: error: none.pgm: cannot read the file"},
  };
  for (const auto& [list, words] : mistakes) EXPECT_NE(mistake(list).find(words), std::string::npos) << mistake(list);
  std::ofstream(folder_ / "small.pgm") << "P5 3 2 255\nabcdef";
  EXPECT_NE(mistake("# 0\nsmall.pgm\n3\n2\n3\n0\n0\n").find("the image is 3 x 2, smaller than"), std::string::npos);
}

TEST_F(ImageGtData, ReportsErrorsOfTheOptions) {
  const std::string own = "image_gt_data_param.";
  const auto expect = [&](const std::string& options, const std::string& field, const std::string& words,
                          const std::string& transform = "") {
    expect_field_error(layer(options, transform), {}, field, words);
  };
  const std::string sizes = "crop_width: 64 crop_height: 48 ", branch = "downsample_rate: 8 field_w: 8 field_h: 8 ";
  const std::string boxes = "output_gt_boxes: true ";
  expect(sizes + branch + boxes, own + "batch_size", "it is 0");
  expect("batch_size: 1 " + branch + boxes, own + "crop_width", "it is 0");
  expect("batch_size: 1 resize_width: 9 " + sizes + branch + boxes, own + "resize_height", "it is 0");
  expect(kWhole + "resize_width: 99 resize_height: 47", own + "crop_height", "but resize_height is 47");
  expect("batch_size: 1 " + sizes + boxes, own + "downsample_rate", "missing");
  expect(kWhole + "downsample_rate: 8 field_w: 8", own + "field_h", "it has 1 value");
  expect("batch_size: 1 downsample_rate: 200 field_w: 8 field_h: 8 " + sizes + boxes, own + "downsample_rate",
         "leaves no position");
  expect(kWhole + "coord_num: 5", own + "coord_num", "it is 5");
  expect(kWhole + "fg_threshold: nan", own + "fg_threshold", "it is nan");
  expect(kWhole + "min_gt_height: nan", own + "min_gt_height", "not a number");
  expect(kWhole + "min_gt_width: nan", own + "min_gt_width", "not a number");
  expect(kWhole + "do_multiple_scale: true max_scale: 9", own + "min_scale", "it is 0");
  expect(kWhole + "do_multiple_scale: true min_scale: 10 max_scale: 9", own + "max_scale", "it is 9");
  expect(kWhole, "transform_param.crop_size", "crops and resizes images itself", "crop_size: 9");
  expect(kWhole, "transform_param.mean_value", "2 mean values", "mean_value: 9 mean_value: 8");
  expect_field_error(layer(kWhole, "", "top: 'data' top: 'label'"), {}, "top", "there are 2 tops");
  expect_field_error("type: 'ImageGtData' top: 'a' top: 'b' top: 'c' image_gt_data_param { " + kWhole + " }", {},
                     own + "source", "window file is missing");
}

}  // namespace
}  // namespace cortado::harness
