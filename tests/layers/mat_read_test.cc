#include "core/error.h"
#include "formats/mat_file.h"
#include "tests/layers/pair_folder.h"

namespace cortado::harness {
namespace {

class MatRead : public testing::Test {
 protected:
  std::string layer(const std::string& more = "", const std::string& tops = "top: 'a' ") const {
    return "type: 'MatRead' " + tops + "mat_read_param { prefix: '" + folder_.path("in_") + "' " + more + " }";
  }
  std::string list(const std::string& content) const {
    folder_.write("list", content);
    return "source: '" + folder_.path("list") + "' ";
  }
  /// A file whose values are first, first + 1 and so on.
  void write(const std::string& name, const std::vector<int64_t>& dims, float first) const {
    size_t count = 1;
    for (const int64_t dim : dims) count *= size_t(dim);
    std::vector<float> values(count);
    for (size_t i = 0; i < count; ++i) values[i] = first + float(i);
    write_mat(folder_.path("in_" + name + ".mat"), "data", dims, values.data());
  }

  const PairFolder folder_{"mat_read"};
};

TEST_F(MatRead, ReadsABatchOfFiles) {
  for (int i = 0; i < 4; ++i) {
    write("iter_" + std::to_string(i) + "_blob_0", {3, 2}, float(10 * i));
    write("iter_" + std::to_string(i) + "_blob_1", {1, 2, 3}, float(100 * i));
  }
  std::vector<Device> devices = tested_devices();
  devices.push_back({});
  for (const Device& device : devices) {
    LayerRun run(layer("batch_size: 2", "top: 'a' top: 'b' "), {}, {.device = device, .backward = false});
    EXPECT_EQ(run.made().shapes.y, (std::vector<Shape>{{2, 1, 2, 3}, {2, 3, 2, 1}}));
    for (int pass = 0; pass < 2; ++pass) {
      run.forward();
      for (int i = 0; i < 12; ++i) {
        EXPECT_EQ(run.y()[0][size_t(i)], 10 * (2 * pass + i / 6) + i % 6);
        EXPECT_EQ(run.y()[1][size_t(i)], 100 * (2 * pass + i / 6) + i % 6);
      }
    }
    EXPECT_THROW(run.forward(), Error) << "the files end";
  }
}

TEST_F(MatRead, RepeatsTheList) {
  write("one_blob_0", {1, 1}, 1);
  write("two_blob_0", {1, 1}, 2);
  write("three_blob_0", {1, 1}, 3);
  LayerRun run(layer(list("one.x\ntwo.x\nthree.x\n") + "strip: 2 batch_size: 2"), {}, {.backward = false});
  std::vector<double> read;
  for (int pass = 0; pass < 3; ++pass) {
    run.forward();
    read.insert(read.end(), run.y()[0].values.begin(), run.y()[0].values.end());
  }
  EXPECT_EQ(read, (std::vector<double>{1, 2, 3, 1, 2, 3}));
}

TEST_F(MatRead, ReportsFilesThatDoNotFit) {
  write("a_blob_0", {2, 2}, 1);
  write("b_blob_0", {2, 3}, 1);
  write("c_blob_0", {2, 2, 2, 2}, 1);
  folder_.write("in_d_blob_0.mat", "not one");
  const auto runs = [&](const std::string& names) {
    LayerRun run(layer(list(names)), {}, {.backward = false});
    run.forward();
    run.forward();
  };
  EXPECT_NO_THROW(runs("a\n"));
  for (const char* names : {"a\nb\n", "c\n", "d\n", "a\nd\n", "none\n"}) EXPECT_THROW(runs(names), Error) << names;
}

TEST_F(MatRead, KnowsNoShapesWithoutItsFiles) {
  EXPECT_EQ(shapes_without_files("MatRead", "mat_read_param { prefix: 'no/such/folder' source: 'none' }", 2),
            (std::vector<Shape>{Shape{-1}, Shape{-1}}));
}

TEST_F(MatRead, ReportsErrors) {
  expect_field_error("type: 'MatRead' top: 'a' mat_read_param { prefix: '' }", {}, "mat_read_param.prefix", "empty");
  expect_field_error(layer("batch_size: 0"), {}, "mat_read_param.batch_size", "batch_size is 0");
  expect_field_error(layer("strip: -1"), {}, "mat_read_param.strip", "strip is -1");
}

}  // namespace
}  // namespace cortado::harness
