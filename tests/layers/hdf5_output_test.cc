#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "core/error.h"
#include "core/files/file.h"
#include "formats/hdf5_file.h"
#include "tests/harness/hdf5_here.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

class HDF5Output : public testing::Test {
 protected:
  void SetUp() override { SKIP_WITHOUT_HDF5(); }
  ~HDF5Output() override { std::filesystem::remove(path_); }

  std::string layer() const { return "type: 'HDF5Output' hdf5_output_param { file_name: '" + path_ + "' }"; }

  /// The values of a dataset of the file.
  Array read(const std::string& name) const {
    Hdf5Reader reader({.path = path_, .names = {name}});
    const Shape shape = reader.entries().at(0).shape;
    std::vector<float> values(size_t(shape.count()));
    reader.read(values.data());
    return Array(shape, {values.begin(), values.end()});
  }

  std::string path_ = testing::TempDir() + "cortado_hdf5_output_" + std::to_string(::getpid()) + ".h5";
};

TEST_F(HDF5Output, RowsOfEveryForwardFollowEachOther) {
  const Array x = random({3, 2, 4}, 1), labels({3}, {7, 8, 9});
  std::vector<Device> devices = tested_devices();
  devices.push_back({});
  for (const Device& device : devices) {
    {
      LayerRun run(layer(), {x, labels}, {.device = device, .backward = false});
      run.forward();
      run.forward();
      EXPECT_FALSE(file_exists(path_)) << "not before the layer goes";
    }
    const Array data = read("data"), label = read("label");
    ASSERT_EQ(data.shape, Shape({6, 2, 4, 1}));
    ASSERT_EQ(label.shape, Shape({6, 1, 1, 1}));
    for (size_t i = 0; i < 48; ++i) EXPECT_EQ(float(data[i]), float(x[i % 24]));
    for (size_t i = 0; i < 6; ++i) EXPECT_EQ(label[i], 7 + double(i % 3));
    std::filesystem::remove(path_);
  }
}

TEST_F(HDF5Output, WithoutAForwardTheOldFileStays) {
  write_file_atomically(path_, "old");
  { LayerRun run(layer(), {Array({1}, 1.0), Array({1}, 1.0)}, {.backward = false}); }
  EXPECT_EQ(read_file(path_), "old");
}

TEST_F(HDF5Output, ErrorsNameTheirFields) {
  expect_field_error("type: 'HDF5Output'", {{1}, {1}}, "hdf5_output_param.file_name", "file_name");
  expect_field_error(layer(), {{3, 2}, {2}}, "bottom[1]", "2 rows, the first bottom has 3");
}

TEST_F(HDF5Output, AFileThatCannotBeWrittenIsAnError) {
  LayerRun run("type: 'HDF5Output' hdf5_output_param { file_name: '/no/such/folder/x.h5' }",
               {Array({1}, 1.0), Array({1}, 1.0)}, {.backward = false});
  try {
    run.forward();
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kIo);
  }
}

}  // namespace
}  // namespace cortado::harness
