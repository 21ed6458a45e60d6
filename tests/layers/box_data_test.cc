#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/error.h"
#include "data/lmdb/lmdb_writer.h"
#include "tests/layers/pair_folder.h"

namespace cortado::harness {
namespace {

constexpr int kYoloSide = 64;

/// Class, difficult, centre and sides.
using YoloBox = std::vector<float>;

/// A dark picture in which the boxes are bright.
std::string yolo_record(const std::vector<YoloBox>& boxes) {
  std::string bytes(size_t(3 * kYoloSide * kYoloSide), '\0');
  caffe::Datum datum;
  for (const YoloBox& box : boxes) {
    for (const float number : box) datum.add_float_data(number);
    if (box.size() < 6) continue;
    const auto at = [](float v) { return std::clamp(int(std::lround(v * kYoloSide)), 0, kYoloSide); };
    for (int y = at(box[3] - box[5] / 2); y < at(box[3] + box[5] / 2); ++y)
      for (int x = at(box[2] - box[4] / 2); x < at(box[2] + box[4] / 2); ++x)
        for (int c = 0; c < 3; ++c) bytes[size_t((y * kYoloSide + x) * 3 + c)] = char(200);
  }
  datum.set_encoded(true);
  datum.set_data("P6 64 64 255\n" + bytes);
  return datum.SerializeAsString();
}

class BoxData : public testing::Test {
 protected:
  void write(const std::vector<std::string>& records) const {
    data::LmdbWriter writer(folder_.path("lmdb"));
    for (size_t i = 0; i < records.size(); ++i) writer.put("0" + std::to_string(i), records[i]);
    writer.commit();
  }
  std::string layer(const std::string& options, const std::string& tops = "top: 'data' top: 'label'",
                    const std::string& transform = "") const {
    return "type: 'BoxData' " + tops + " transform_param { " + transform + " } data_param { backend: LMDB source: '" +
           folder_.path("lmdb") + "' " + options + " }";
  }

  const PairFolder folder_{"box_data"};
};

/// The labels of side x side cells, from their definition.
std::vector<double> yolo_labels(const std::vector<YoloBox>& boxes, int side) {
  const int cells = side * side;
  std::vector<double> labels(size_t(7 * cells), 0.0);
  std::fill_n(labels.begin() + 2 * cells, cells, -1.0);
  for (const YoloBox& box : boxes)
    for (int cell = 0; cell < cells; ++cell) {
      const double left = double(cell % side) / side, top = double(cell / side) / side;
      const bool across = box[2] >= left && (box[2] < left + 1.0 / side || cell % side == side - 1);
      const bool down = box[3] >= top && (box[3] < top + 1.0 / side || cell / side == side - 1);
      if (!across || !down) continue;
      labels[size_t(cell)] = box[1];
      labels[size_t(cells + cell)] = 1;
      labels[size_t(2 * cells + cell)] = box[0];
      for (int i = 0; i < 4; ++i) labels[size_t(3 * cells + 4 * cell + i)] = box[size_t(2 + i)];
    }
  return labels;
}

TEST_F(BoxData, LabelsCells) {
  const std::vector<std::vector<YoloBox>> boxes = {{{3, 0, 0.25f, 0.5f, 0.5f, 0.25f}, {19, 1, 1, 0.9f, 0.5f, 0.1f}},
                                                   {},
                                                   {{0, 0, 0.5f, 0.6f, 1.5f, 1}, {1, 0, 0.55f, 0.6f, 0.1f, 0.125f}}};
  write({yolo_record(boxes[0]), yolo_record(boxes[1]), yolo_record(boxes[2])});
  std::vector<Device> devices = tested_devices();
  devices.push_back({});
  for (const Device& device : devices) {
    LayerRun run(layer("batch_size: 3 side: 5 side: 7", "top: 'd' top: 'a' top: 'b'",
                       "mean_value: 1 mean_value: 2 mean_value: 3"),
                 {}, {.device = device, .phase = caffe::TEST, .backward = false});
    EXPECT_EQ(run.made().shapes.y, (std::vector<Shape>{{3, 3, kYoloSide, kYoloSide}, {3, 175}, {3, 343}}));
    run.forward();
    EXPECT_EQ(run.y()[0][size_t(kYoloSide * kYoloSide) + 32 * kYoloSide + 16], 198) << "green, in the first box";
    for (size_t top = 1; top < 3; ++top) {
      Array expected(run.y()[top].shape);
      expected.values.clear();
      for (const auto& of_image : boxes) {
        const std::vector<double> labels = yolo_labels(of_image, top == 1 ? 5 : 7);
        expected.values.insert(expected.values.end(), labels.begin(), labels.end());
      }
      expect_near(run.y()[top], expected, 1e-6, "labels");
    }
  }
}

TEST_F(BoxData, HasSevenCellsASideByDefault) {
  write({yolo_record({{1, 0, 0.5f, 0.5f, 0.5f, 0.5f}})});
  LayerRun run(layer("batch_size: 2"), {}, {.backward = false});
  EXPECT_EQ(run.made().shapes.y[1], (Shape{2, 343}));
  LayerRun images(layer("batch_size: 2", "top: 'data'"), {}, {.backward = false});
  EXPECT_EQ(images.made().shapes.y.size(), 1u);
}

/// The bright part of an image of the batch, as its centre and sides.
std::vector<double> bright_box(const Array& images, size_t item) {
  int x0 = kYoloSide, y0 = kYoloSide, x1 = -1, y1 = -1;
  for (int y = 0; y < kYoloSide; ++y)
    for (int x = 0; x < kYoloSide; ++x) {
      if (images[(item * 3 * kYoloSide + size_t(y)) * kYoloSide + size_t(x)] < 100) continue;
      x0 = std::min(x0, x), x1 = std::max(x1, x), y0 = std::min(y0, y), y1 = std::max(y1, y);
    }
  return {(x0 + x1 + 1) / 2.0 / kYoloSide, (y0 + y1 + 1) / 2.0 / kYoloSide, double(x1 + 1 - x0) / kYoloSide,
          double(y1 + 1 - y0) / kYoloSide};
}

TEST_F(BoxData, ShowsPartsWithAnObjectInTraining) {
  write({yolo_record({{1, 0, 0.5f, 0.5f, 0.25f, 0.375f}}), yolo_record({{2, 0, 0.3f, 0.7f, 0.2f, 0.2f}}),
         yolo_record({{3, 0, 0.05f, 0.9f, 0.1f, 0.2f}})});
  for (const std::string mirror : {"false", "true"}) {
    LayerRun run(layer("batch_size: 3", "top: 'd' top: 'l'", "mirror: " + mirror), {}, {.backward = false});
    std::set<double> widths;
    int right = 0;
    for (int batch = 0; batch < 20; ++batch) {
      run.forward();
      const Array& labels = run.y()[1];
      for (size_t item = 0; item < 3; ++item) {
        const auto begin = labels.values.begin() + int64_t(item) * 343;
        const auto found = std::find(begin + 49, begin + 98, 1.0);
        ASSERT_NE(found, begin + 98) << "the centre of the only object is always visible";
        const int64_t cell = found - begin - 49;
        EXPECT_EQ(*(begin + 98 + cell), double(item + 1));
        const std::vector<double> box(begin + 147 + 4 * cell, begin + 151 + 4 * cell);
        EXPECT_EQ(cell, std::min(int(box[1] * 7), 6) * 7 + std::min(int(box[0] * 7), 6));
        right += item == 1 && box[0] > 0.6;
        if (item == 2 || box[0] - box[2] / 2 < 0 || box[0] + box[2] / 2 > 1 || box[1] - box[3] / 2 < 0 ||
            box[1] + box[3] / 2 > 1)
          continue;
        const std::vector<double> bright = bright_box(run.y()[0], item);
        for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(box[i], bright[i], 0.025) << batch << " " << item << " " << i;
        if (item == 0) widths.insert(box[2]);
        EXPECT_TRUE(box[2] >= (item == 0 ? 0.25 : 0.2) - 1e-6 && box[2] <= (item == 0 ? 0.25 : 0.2) / 0.69) << box[2];
      }
    }
    EXPECT_GT(widths.size(), 15u);
    EXPECT_EQ(right > 3, mirror == "true");
  }
}

TEST_F(BoxData, RejectsOtherRecords) {
  caffe::Datum raw;
  raw.set_channels(1), raw.set_height(2), raw.set_width(3), raw.set_data("abcdef");
  const std::string records[] = {raw.SerializeAsString(),
                                 yolo_record({{1, 0, 0.5f, 0.5f, 0.5f}}),
                                 yolo_record({{-1, 0, 0.5f, 0.5f, 0.5f, 0.5f}}),
                                 yolo_record({{1.5f, 0, 0.5f, 0.5f, 0.5f, 0.5f}}),
                                 yolo_record({{1, 0, NAN, 0.5f, 0.5f, 0.5f}}),
                                 yolo_record({{1, 0, 0.5f, 1e30f, 0.5f, 0.5f}})};
  for (const std::string& record : records) {
    const PairFolder folder("box_data_bad");
    data::LmdbWriter writer(folder.path("lmdb"));
    writer.put("0", record);
    writer.commit();
    EXPECT_THROW(
        {
          LayerRun run("type: 'BoxData' top: 'd' top: 'l' data_param { backend: LMDB batch_size: 1 source: '" +
                           folder.path("lmdb") + "' }",
                       {}, {.backward = false});
          run.forward();
        },
        Error);
  }
}

TEST_F(BoxData, ReportsErrors) {
  write({yolo_record({{1, 0, 0.5f, 0.5f, 0.5f, 0.5f}})});
  expect_field_error(layer("batch_size: 1 side: 0"), {}, "data_param.side", "0");
  expect_field_error(layer("batch_size: 1 side: 5 side: 7"), {}, "top", "there are 2 tops, but side is set 2 times");
  expect_field_error(layer("batch_size: 1 cache: true"), {}, "data_param.cache", "caching");
  expect_field_error(layer(""), {}, "data_param.batch_size", "0");
}

TEST_F(BoxData, KnowsShapesOfLabelsWithoutData) {
  EXPECT_EQ(shapes_without_files(
                "BoxData", "data_param { source: 'none' batch_size: 2 side: 3 } transform_param { crop_size: 8 }", 2),
            (std::vector<Shape>{{2, 3, 8, 8}, {2, 63}}));
}

}  // namespace
}  // namespace cortado::harness
