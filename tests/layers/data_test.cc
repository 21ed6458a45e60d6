#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "core/error.h"
#include "data/formats/datum.h"
#include "data/lmdb/lmdb_writer.h"
#include "layers/registry.h"
#include "layers/roles.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// Ten records of 1 x 2 x 3 bytes: record i holds i, i + 1, ..., and the label i.
class Data : public testing::Test {
 protected:
  Data() : folder_(std::filesystem::temp_directory_path() / ("cortado_data_layer_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
    data::LmdbWriter writer(source());
    for (int i = 0; i < 10; ++i) {
      std::string bytes;
      for (int k = 0; k < 6; ++k) bytes += char(i + k);
      writer.put("0000000" + std::to_string(i), data::make_datum(1, 2, 3, bytes, i));
    }
    writer.commit();
  }
  ~Data() override { std::filesystem::remove_all(folder_); }

  std::string source() const { return folder_ / "lmdb"; }

  std::string layer(const std::string& more = "") const {
    return "type: 'Data' top: 'data' top: 'label' data_param { source: '" + source() +
           "' batch_size: 4 backend: LMDB } " + more;
  }

 private:
  std::filesystem::path folder_;
};

DataCursor& cursor_of(LayerRun& run) { return dynamic_cast<DataCursor&>(run.layer()); }

TEST_F(Data, ReadsBatchesInTheDatasetsOrder) {
  LayerRun run(layer(), {}, {.backward = false});
  EXPECT_EQ(run.made().shapes.y, (std::vector<Shape>{{4, 1, 2, 3}, {4}}));
  for (int batch = 0; batch < 4; ++batch) {
    run.forward();
    for (int i = 0; i < 4; ++i) {
      const int record = (4 * batch + i) % 10;
      EXPECT_EQ(run.y()[1][size_t(i)], record);
      for (int k = 0; k < 6; ++k) EXPECT_EQ(run.y()[0][size_t(6 * i + k)], record + k);
    }
    EXPECT_EQ(cursor_of(run).position(), uint64_t(4 * batch + 4));
  }
}

TEST_F(Data, ContinuesAfterSeek) {
  LayerRun run(layer(), {}, {.backward = false});
  cursor_of(run).seek(7);
  run.forward();
  expect_near(run.y()[1], Array({4}, {7, 8, 9, 0}), 0, "label");
  EXPECT_GE(cursor_of(run).wait_seconds(), 0);
}

TEST_F(Data, LabelTopIsOptional) {
  LayerRun run("type: 'Data' top: 'data' data_param { source: '" + source() + "' batch_size: 2 backend: LMDB }", {},
               {.backward = false});
  run.forward();
  EXPECT_EQ(run.y().size(), 1u);
}

/// The shapes that are known without the dataset.
std::vector<Shape> closed_shapes(const std::string& transform) {
  const MadeLayer parsed("type: 'Silence' data_param { source: 'nowhere' batch_size: 4 backend: LMDB } " + transform,
                         "", {});
  caffe::LayerParameter config = parsed.config;
  config.set_type("Data");
  config.add_top("data");
  config.add_top("label");
  LayerOptions options{.config = config};
  options.open_data = false;
  return find_layer_type("Data")->make(options)->infer({}).y;
}

TEST(DataWithoutItsDataset, KnowsTheShapeOnlyFromACrop) {
  EXPECT_EQ(closed_shapes("transform_param { crop_size: 5 }"), (std::vector<Shape>{{4, 3, 5, 5}, {4}}));
  EXPECT_EQ(closed_shapes("transform_param { crop_size: 5 force_gray: true }"),
            (std::vector<Shape>{{4, 1, 5, 5}, {4}}));
  EXPECT_EQ(closed_shapes(""), (std::vector<Shape>{Shape{-1}, {4}}));
}

TEST(DataWithoutItsDataset, ReportsTheMissingOption) {
  try {
    MadeLayer("type: 'Data' top: 'data' data_param { source: '/no/such/lmdb' batch_size: 4 backend: LMDB }", "", {});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("/no/such/lmdb"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace cortado::harness
