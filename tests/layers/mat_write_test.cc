#include "core/error.h"
#include "core/files/file.h"
#include "formats/mat_file.h"
#include "tests/layers/pair_folder.h"

namespace cortado::harness {
namespace {

class MatWrite : public testing::Test {
 protected:
  std::string layer(const std::string& more = "") const {
    return "type: 'MatWrite' mat_write_param { prefix: '" + folder_.path("out_") + "' " + more + " }";
  }
  std::string list(const std::string& content) const {
    folder_.write("list", content);
    return "source: '" + folder_.path("list") + "' ";
  }
  MatArray read(const std::string& name) const { return read_mat(folder_.path("out_" + name + ".mat"), "data"); }
  bool exists(const std::string& name) const { return file_exists(folder_.path("out_" + name + ".mat")); }

  const PairFolder folder_{"mat_write"};
};

TEST_F(MatWrite, WritesEachBottomInMatlabsOrder) {
  const Array a = random({2, 3, 4, 5}, 1), b({6}, {1, 2, 3, 4, 5, 6});
  std::vector<Device> devices = tested_devices();
  devices.push_back({});
  for (const Device& device : devices) {
    LayerRun run(layer(), {a, b}, {.device = device, .backward = false});
    run.forward();
    run.forward();
    const MatArray first = read("iter_0_blob_0"), second = read("iter_1_blob_1");
    EXPECT_EQ(first.dims, (std::vector<int64_t>{5, 4, 3, 2}));
    for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(first.values[i], float(a[i]));
    EXPECT_EQ(second.dims, (std::vector<int64_t>{1, 1, 1, 6}));
    EXPECT_EQ(second.values, (std::vector<float>{1, 2, 3, 4, 5, 6}));
  }
}

TEST_F(MatWrite, TakesNamesFromAList) {
  LayerRun run(layer(list("one.jpg 3\ntwo.jpg 4\n") + "strip: 4"), {Array({1}, 1.0)}, {.backward = false});
  run.forward();
  run.forward();
  EXPECT_TRUE(exists("one_blob_0") && exists("two_blob_0"));
  EXPECT_THROW(run.forward(), Error);
}

TEST_F(MatWrite, WritesEveryPeriod) {
  LayerRun run(layer("period: 2"), {Array({1}, 1.0)}, {.backward = false});
  for (int i = 0; i < 3; ++i) run.forward();
  EXPECT_TRUE(exists("iter_0_blob_0") && exists("iter_2_blob_0"));
  EXPECT_FALSE(exists("iter_1_blob_0"));
}

TEST_F(MatWrite, ReportsErrors) {
  expect_field_error("type: 'MatWrite' mat_write_param { prefix: '' }", {{1}}, "mat_write_param.prefix", "empty");
  expect_field_error(layer("period: 0"), {{1}}, "mat_write_param.period", "period is 0");
  expect_field_error(layer("strip: -1"), {{1}}, "mat_write_param.strip", "strip is -1");
  EXPECT_THROW(MadeLayer(layer(list("a\n") + "strip: 1"), "", {{1}}), Error);
  EXPECT_THROW(MadeLayer(layer("source: '/no/such/file'"), "", {{1}}), Error);
}

}  // namespace
}  // namespace cortado::harness
