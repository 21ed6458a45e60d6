#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "core/error.h"
#include "core/files/file.h"
#include "formats/hdf5_file.h"
#include "layers/registry.h"
#include "layers/roles.h"
#include "tests/harness/hdf5_here.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

DataCursor& cursor_of(Layer& layer) { return dynamic_cast<DataCursor&>(layer); }

/// Two files of 3 and 4 rows: image i is 2 x 2 of i, label i is 10 i.
class HDF5Data : public testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_HDF5();
    std::filesystem::create_directories(folder_);
    write("a.h5", 0, 3);
    write("b.h5", 3, 4);
    write_file_atomically(source(), folder_ + "/a.h5\n" + folder_ + "/b.h5\n");
  }
  ~HDF5Data() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, int first, int64_t rows) const {
    Hdf5Writer writer(folder_ + "/" + name, {{"image", "F32", {rows, 1, 2, 2}}, {"label", "I32", {rows, 1}}});
    for (int i = first; i < first + int(rows); ++i)
      for (const float value : {float(i), float(i), float(i), float(i)}) writer.add(&value, sizeof value);
    for (int32_t i = first; i < first + int(rows); ++i) {
      const int32_t label = 10 * i;
      writer.add(&label, sizeof label);
    }
    writer.commit();
  }

  std::string source() const { return folder_ + "/list.txt"; }
  std::string layer(const std::string& more = "") const {
    return "type: 'HDF5Data' top: 'image' top: 'label' hdf5_data_param { source: '" + source() + "' batch_size: 5 " +
           more + "}";
  }

  std::string folder_ = testing::TempDir() + "cortado_hdf5_data_" + std::to_string(::getpid());
};

TEST_F(HDF5Data, BatchesContinueInTheNextFile) {
  LayerRun run(layer(), {}, {.backward = false});
  EXPECT_EQ(run.made().shapes.y, (std::vector<Shape>{{5, 1, 2, 2}, {5, 1}}));
  for (int batch = 0; batch < 4; ++batch) {
    run.forward();
    for (int i = 0; i < 5; ++i) {
      const int row = (5 * batch + i) % 7;
      EXPECT_EQ(run.y()[1][size_t(i)], 10 * row);
      for (int k = 0; k < 4; ++k) EXPECT_EQ(run.y()[0][size_t(4 * i + k)], row);
    }
    EXPECT_EQ(cursor_of(run.layer()).position(), uint64_t(5 * batch + 5));
  }
}

TEST_F(HDF5Data, ContinuesAfterSeek) {
  LayerRun whole(layer("shuffle: true "), {}, {.backward = false}),
      later(layer("shuffle: true "), {}, {.backward = false});
  whole.forward();
  whole.forward();
  whole.forward();
  cursor_of(later.layer()).seek(10);
  later.forward();
  EXPECT_TRUE(same_bits(later.y()[0], whole.y()[0]));
  EXPECT_TRUE(same_bits(later.y()[1], whole.y()[1]));
}

TEST_F(HDF5Data, DevicesGetTheSame) {
  for (const Device& device : tested_devices()) {
    LayerRun here(layer(), {}, {.backward = false}), there(layer(), {}, {.device = device, .backward = false});
    here.forward();
    there.forward();
    EXPECT_TRUE(same_bits(here.y()[0], there.y()[0]));
    EXPECT_TRUE(same_bits(here.y()[1], there.y()[1]));
  }
}

/// Volumes whose values encode their positions: one of 1 x 4 x 5 x 6, one of 1 x 3 x 3 x 4, with labels of the same.
TEST_F(HDF5Data, CropsVolumes) {
  const auto write_volume = [&](const std::string& name, int64_t l, int64_t h, int64_t w) {
    Hdf5Writer writer(folder_ + "/" + name, {{"image", "F32", {1, 2, l, h, w}}, {"label", "F32", {1, 1, l, h, w}}});
    for (const int64_t channels : {2, 1})
      for (int64_t i = 0; i < channels * l * h * w; ++i) {
        const float value = float(i / (l * h * w) * 1000 + i / (h * w) % l * 100 + i / w % h * 10 + i % w);
        writer.add(&value, sizeof value);
      }
    writer.commit();
  };
  write_volume("a.h5", 4, 5, 6);
  write_volume("b.h5", 3, 3, 4);
  const std::string crop = " transform_param { crop_size_l: 2 crop_size_h: 3 crop_size_w: 2 }";
  LayerRun run(layer() + crop, {}, {.backward = false});
  EXPECT_EQ(run.made().shapes.y, (std::vector<Shape>{{5, 2, 2, 3, 2}, {5, 1, 2, 3, 2}}));
  std::set<double> corners;
  for (int pass = 0; pass < 4; ++pass) {
    run.forward();
    for (int64_t i = 0; i < 60; ++i) {
      const int64_t row = i / 12, at = i % 12;
      const double corner = run.y()[1][size_t(row * 12)];
      EXPECT_EQ(run.y()[1][size_t(i)], corner + double(at / 6 * 100 + at / 2 % 3 * 10 + at % 2));
      EXPECT_EQ(run.y()[0][size_t(row * 24 + at)], run.y()[1][size_t(i)]);
      EXPECT_EQ(run.y()[0][size_t(row * 24 + 12 + at)], run.y()[1][size_t(i)] + 1000);
      corners.insert(corner);
    }
  }
  EXPECT_GT(corners.size(), 6u);
  LayerRun test(layer() + crop, {}, {.phase = caffe::TEST, .backward = false});
  test.forward();
  EXPECT_EQ(test.y()[1][0], 112);
  EXPECT_EQ(test.y()[1][12], 1);
  EXPECT_THROW(LayerRun(layer() + " transform_param { crop_size_l: 5 crop_size_h: 3 crop_size_w: 2 }", {}, {}), Error);
}

TEST_F(HDF5Data, ErrorsNameTheirFields) {
  const std::string param = "hdf5_data_param { source: '" + source() + "' batch_size: 5 } ";
  expect_field_error("type: 'HDF5Data' top: 'image' transform_param { scale: 2 } " + param, {}, "transform_param.scale",
                     "no transform");
  expect_field_error("type: 'HDF5Data' top: 'image' transform_param { crop_size_l: 2 crop_size_h: 2 } " + param, {},
                     "transform_param.crop_size_w", "0 or not set");
  expect_field_error("type: 'HDF5Data' top: 'image' hdf5_data_param { batch_size: 5 }", {}, "hdf5_data_param.source",
                     "source");
  expect_field_error("type: 'HDF5Data' top: 'image' hdf5_data_param { source: 'x' }", {}, "hdf5_data_param.batch_size",
                     "batch_size");
}

TEST(HDF5DataWithoutItsFiles, ShapesAreUnknownWithoutFiles) {
  caffe::LayerParameter config;
  config.set_type("HDF5Data");
  config.add_top("data");
  config.add_top("label");
  config.mutable_hdf5_data_param()->set_source("nowhere");
  config.mutable_hdf5_data_param()->set_batch_size(4);
  LayerOptions options{.config = config};
  options.open_data = false;
  const auto layer = find_layer_type("HDF5Data")->make(options);
  EXPECT_EQ(layer->infer({}).y, (std::vector<Shape>{Shape{-1}, Shape{-1}}));
  EXPECT_EQ(cursor_of(*layer).position(), 0u);
}

}  // namespace
}  // namespace cortado::harness
