#include "core/error.h"
#include "tests/layers/pair_folder.h"

namespace cortado::harness {
namespace {

class WindowSegData : public testing::Test {
 protected:
  WindowSegData() {
    folder_.add(0, 4, 5);
    folder_.add(1, 3, 6);
  }
  std::string layer(const std::string& list, const std::string& more, const std::string& rest = "") const {
    folder_.write("list", list);
    return "type: 'WindowSegData' top: 'data' top: 'label' image_data_param { " + folder_.source() +
           "batch_size: 1 is_color: false " + more + " } " + rest;
  }
  Arrays read(const std::string& list, const std::string& more, const std::string& rest = "") const {
    LayerRun run(layer(list, more, rest), {}, {.phase = caffe::TEST, .backward = false});
    run.forward();
    return run.y();
  }

  const PairFolder folder_{"window_seg_data"};
};

TEST_F(WindowSegData, CutsWindows) {
  const Arrays y = read("i0.pgm l0.pgm 1 2 3 3\n", "label_type: PIXEL");
  EXPECT_EQ(y[0].shape, (Shape{1, 1, 2, 3}));
  for (int k = 0; k < 6; ++k) {
    EXPECT_EQ(y[0][size_t(k)], pixel_of(0, 2 + k / 3, 1 + k % 3)) << k;
    EXPECT_EQ(y[1][size_t(k)], label_of(0, 2 + k / 3, 1 + k % 3)) << k;
  }
}

TEST_F(WindowSegData, FillsOutsideOfTheImage) {
  const Arrays y = read("i0.pgm l0.pgm -2 -1 5 4\n", "ignore_label: 21", "transform_param { mean_value: 2 }");
  EXPECT_EQ(y[0].shape, (Shape{1, 1, 6, 8}));
  for (int k = 0; k < 48; ++k) {
    const int h = k / 8 - 1, w = k % 8 - 2;
    const bool inside = h >= 0 && h < 4 && w >= 0 && w < 5;
    EXPECT_EQ(y[0][size_t(k)], (inside ? pixel_of(0, h, w) : 0) - 2) << k;
    EXPECT_EQ(y[1][size_t(k)], inside ? label_of(0, h, w) : 21) << k;
  }
  const Arrays far = read("i0.pgm l0.pgm 9 9 10 11\n", "");
  for (size_t k = 0; k < 6; ++k) {
    EXPECT_EQ(far[0][k], 0);
    EXPECT_EQ(far[1][k], 255);
  }
}

TEST_F(WindowSegData, ResizesWindows) {
  // Halved: the mean of 2 x 2 pixels, and the label of the upper left one.
  const Arrays y = read("i1.pgm l1.pgm 1 0 4 1\n", "new_height: 1 new_width: 2");
  EXPECT_EQ(y[0].shape, (Shape{1, 1, 1, 2}));
  EXPECT_NEAR(y[0][0], pixel_of(1, 0, 1) + 5.5, 0.5);
  EXPECT_NEAR(y[0][1], pixel_of(1, 0, 3) + 5.5, 0.5);
  EXPECT_EQ(y[1].values, (std::vector<double>{double(label_of(1, 0, 1)), double(label_of(1, 0, 3))}));
}

TEST_F(WindowSegData, AcceptsListsWithoutLabels) {
  const Arrays y = read("i0.pgm 0 0 1 1\n", "label_type: NONE", "transform_param { crop_size: 3 }");
  EXPECT_EQ(y[0].values, (std::vector<double>{0, 1, 0, 10, 11, 0, 0, 0, 0}));
  for (size_t k = 0; k < 9; ++k) EXPECT_EQ(y[1][k], 255);
}

TEST_F(WindowSegData, ReportsBadLines) {
  const auto refuses = [&](const std::string& line, const std::string& words) {
    try {
      LayerRun run(layer(line + "\n", ""), {}, {.backward = false});
      run.forward();
      ADD_FAILURE() << line;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  refuses("i0.pgm l0.pgm", "the window is missing");
  refuses("i0.pgm l0.pgm 1 2 3", "the window is missing");
  refuses("i0.pgm l0.pgm 1 2 3 9999999999", "the window is missing");
  refuses("i0.pgm l0.pgm 3 0 1 1", "the window is empty");
  refuses("i0.pgm l0.pgm -2147483648 -2147483648 2147483647 2147483647", "larger than the limit");
  refuses("i0.pgm 0 0 1 1", "the path of the labels is missing");
  refuses("i0.pgm l1.pgm 0 0 1 1", "but its labels are 3x6");
}

TEST(WindowSegDataOptions, AreChecked) {
  const auto refuses = [](const std::string& options, const std::string& field, const std::string& words) {
    expect_field_error("type: 'WindowSegData' top: 'data' image_data_param { " + options, {}, field, words);
  };
  refuses("}", "image_data_param.source", "not set");
  refuses("source: 's' label_type: IMAGE }", "image_data_param.label_type", "PIXEL");
  refuses("source: 's' ignore_label: 256 }", "image_data_param.ignore_label", "256");
}

}  // namespace
}  // namespace cortado::harness
