#include "layers/common/weights/filler.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <numeric>

#include "core/error.h"
#include "core/files/file.h"
#include "core/rng.h"
#include "tests/harness/array.h"

namespace cortado::harness {
namespace {

caffe::FillerParameter parse(const std::string& text) {
  caffe::FillerParameter filler;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &filler)) << text;
  return filler;
}

Array filled(const std::string& text, const Shape& shape, uint64_t key = 1, int threads = 1) {
  Context context(threads);
  std::vector<float> values(size_t(shape.count()));
  fill(context, parse(text), shape, key, values.data());
  return {shape, {values.begin(), values.end()}};
}

struct Moments {
  double mean = 0, deviation = 0, low = 0, high = 0;
};

Moments moments(const Array& array) {
  Moments m{0, 0, array[0], array[0]};
  for (const double v : array.values) {
    m.mean += v / double(array.size());
    m.low = std::min(m.low, v);
    m.high = std::max(m.high, v);
  }
  for (const double v : array.values) m.deviation += (v - m.mean) * (v - m.mean) / double(array.size());
  m.deviation = std::sqrt(m.deviation);
  return m;
}

const Shape kWeights{50, 40, 5, 5};  // fan in 1000, fan out 1250

void expect_uniform(const Array& array, double low, double high) {
  const Moments m = moments(array);
  const double width = high - low;
  EXPECT_GE(m.low, low);
  EXPECT_LT(m.high, high);
  EXPECT_NEAR(m.mean, (low + high) / 2, 0.01 * width);
  EXPECT_NEAR(m.deviation, width / std::sqrt(12), 0.01 * width);
}

void expect_normal(const Array& array, double mean, double deviation) {
  const Moments m = moments(array);
  EXPECT_NEAR(m.mean, mean, 0.02 * deviation);
  EXPECT_NEAR(m.deviation, deviation, 0.02 * deviation);
  size_t within = 0;
  for (const double v : array.values) within += std::fabs(v - mean) < deviation;
  EXPECT_NEAR(double(within) / double(array.size()), 0.6827, 0.01);
}

TEST(Filler, ConstantIsZeroByDefault) {
  EXPECT_EQ(filled("", {2, 2}).values, std::vector<double>(4, 0));
  EXPECT_EQ(filled("value: 3", {2, 2}).values, std::vector<double>(4, 3));
}

TEST(Filler, UniformLiesBetweenMinAndMax) {
  expect_uniform(filled("type: 'uniform' min: -2 max: 3", kWeights), -2, 3);
  EXPECT_EQ(filled("type: 'uniform' min: 1 max: 1", {3}).values, std::vector<double>(3, 1));
}

TEST(Filler, GaussianHasMeanAndDeviation) {
  expect_normal(filled("type: 'gaussian' mean: 2 std: 0.5", kWeights), 2, 0.5);
}

TEST(Filler, SparseGaussianKeepsSomePerOutput) {
  const Array w = filled("type: 'gaussian' sparse: 5", kWeights);
  const double kept = double(std::count_if(w.values.begin(), w.values.end(), [](double v) { return v != 0; }));
  EXPECT_NEAR(kept / double(w.size()), 5.0 / 50, 0.01);
}

TEST(Filler, PositiveUnitballRowsSumToOne) {
  const Array w = filled("type: 'positive_unitball'", {6, 30});
  for (size_t row = 0; row < 6; ++row) {
    double sum = 0;
    for (size_t i = 0; i < 30; ++i) {
      EXPECT_GE(w[row * 30 + i], 0);
      sum += w[row * 30 + i];
    }
    EXPECT_NEAR(sum, 1, 1e-5);
  }
}

TEST(Filler, GaussianUnitballRowsHaveNormOne) {
  const Array w = filled("type: 'gaussian_unitball'", {200, 30});
  for (size_t row = 0; row < 200; ++row) {
    double squares = 0;
    for (size_t i = 0; i < 30; ++i) squares += w[row * 30 + i] * w[row * 30 + i];
    EXPECT_NEAR(squares, 1, 1e-5);
  }
  const double sum = std::accumulate(w.values.begin(), w.values.end(), 0.0);
  EXPECT_NEAR(sum / 6000, 0, 0.01) << "both signs";
}

TEST(Filler, XavierScalesByTheFan) {
  const auto bound = [](double n) { return std::sqrt(3 / n); };
  expect_uniform(filled("type: 'xavier'", kWeights), -bound(1000), bound(1000));
  expect_uniform(filled("type: 'xavier' variance_norm: FAN_OUT", kWeights), -bound(1250), bound(1250));
  expect_uniform(filled("type: 'xavier' variance_norm: AVERAGE", kWeights), -bound(1125), bound(1125));
}

TEST(Filler, MsraScalesByTheFan) {
  expect_normal(filled("type: 'msra'", kWeights), 0, std::sqrt(2.0 / 1000));
  expect_normal(filled("type: 'msra' variance_norm: FAN_OUT", kWeights), 0, std::sqrt(2.0 / 1250));
}

TEST(Filler, FansOfFewAxes) {
  for (const char* type : {"xavier", "msra"}) {
    for (const Shape& shape : {Shape(), Shape{7}}) {
      for (const char* norm : {"FAN_IN", "FAN_OUT", "AVERAGE"}) {
        const Array w = filled("type: '" + std::string(type) + "' variance_norm: " + norm, shape);
        for (const double v : w.values) EXPECT_TRUE(std::isfinite(v));
      }
    }
  }
}

TEST(Filler, BilinearInterpolates) {
  const std::vector<double> four = {0.25, 0.75, 0.75, 0.25};  // the kernel that doubles the size of an image
  const Array w = filled("type: 'bilinear'", {2, 1, 4, 4});
  for (size_t i = 0; i < w.size(); ++i) EXPECT_NEAR(w[i], four[i % 4] * four[i / 4 % 4], 1e-6);
  const std::vector<double> three = {0.5, 1, 0.5};
  const Array odd = filled("type: 'bilinear'", {1, 1, 3, 3});
  for (size_t i = 0; i < odd.size(); ++i) EXPECT_NEAR(odd[i], three[i % 3] * three[i / 3], 1e-6);
}

TEST(Filler, BilinearOfVolumesInterpolates) {
  const std::vector<double> four = {0.25, 0.75, 0.75, 0.25};
  const Array w = filled("type: 'bilinear_3D'", {2, 1, 4, 4, 4});
  for (size_t i = 0; i < w.size(); ++i) EXPECT_NEAR(w[i], four[i % 4] * four[i / 4 % 4] * four[i / 16 % 4], 1e-6);
}

/// A file with this content, for the time of a test.
class NumberFile {
 public:
  explicit NumberFile(const std::string& content)
      : path_(std::filesystem::temp_directory_path() / ("cortado_filler_" + std::to_string(::getpid()))) {
    write_file_atomically(path_, content);
  }
  ~NumberFile() { std::filesystem::remove(path_); }
  std::string filler() const { return "type: 'file' file: '" + path_ + "'"; }

 private:
  std::string path_;
};

TEST(Filler, FileHasTheNumbers) {
  const NumberFile file("1 -2.5\t3e2\r\n 4\n\n5 0.125\n");
  EXPECT_EQ(filled(file.filler(), {2, 3}).values, (std::vector<double>{1, -2.5, 300, 4, 5, 0.125}));
  Context context(1);
  std::vector<float> values(16);  // in channels-last order
  const NumberFile counting("0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15");
  TensorSpec spec{.shape = {1, 2, 2, 4}, .layout = Layout::kChannelsLast};
  fill(context, parse(counting.filler()), 1, Tensor{spec, context.device, values.data()});
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], float(i / 2 + i % 2 * 8));
}

TEST(Filler, RejectsFilesThatDoNotFit) {
  const auto expect = [](const std::string& content, const std::string& words) {
    const NumberFile file(content);
    try {
      filled(file.filler(), {3});
      ADD_FAILURE() << content;
    } catch (const FieldError& error) {
      EXPECT_EQ(error.field(), "file");
      EXPECT_NE(error.message().find(words), std::string::npos) << error.message();
    }
  };
  expect("1 2", "has 2 numbers, but there are 3 weights");
  expect("1 2 3 4", "has 4 numbers");
  expect("", "has 0 numbers");
  expect("1 two 3", "number 2 in ");
  expect("1 2x 3", "number 2 in ");
  EXPECT_THROW(filled("type: 'file' file: '/missing'", {3}), Error);
}

TEST(Filler, IsAFunctionOfItsKeyAlone) {
  for (const char* type : {"uniform", "gaussian", "xavier", "msra", "positive_unitball", "gaussian_unitball"}) {
    const std::string text = "type: '" + std::string(type) + "'";
    const Array one = filled(text, kWeights, 1, 1), eight = filled(text, kWeights, 1, 8),
                other = filled(text, kWeights, 2, 1);
    EXPECT_EQ(one.values, eight.values) << type;
    EXPECT_NE(one.values, other.values) << type;
    EXPECT_TRUE(std::equal(one.values.begin(), one.values.begin() + 100, eight.values.begin()));
  }
}

TEST(Filler, NormalValuesAreThoseOfAStreamForEachChunk) {
  constexpr size_t kChunk = 16384;
  const Array w = filled("type: 'gaussian' mean: 0.25 std: 0.5", {5, 9001}, 7, 3);
  for (size_t first = 0; first < w.size(); first += kChunk) {
    RandomStream stream(mix_key(7, first / kChunk));
    for (size_t i = first; i < std::min(first + kChunk, w.size()); ++i)
      ASSERT_EQ(w[i], double(float(0.25 + 0.5 * stream.normal()))) << i;
  }
}

TEST(Filler, AcceptsEmptyShapes) {
  for (const char* type : {"constant", "uniform", "gaussian", "xavier", "msra", "positive_unitball"})
    EXPECT_TRUE(filled("type: '" + std::string(type) + "'", {0, 3}).values.empty());
}

void expect_refused(const std::string& text, const Shape& shape, const std::string& field, const std::string& words) {
  try {
    check_filler(parse(text), shape, "p.weight_filler");
    ADD_FAILURE() << text;
  } catch (const FieldError& error) {
    EXPECT_EQ(error.field(), "p.weight_filler." + field);
    EXPECT_NE((error.message() + error.hint()).find(words), std::string::npos) << error.message() << error.hint();
  }
}

TEST(Filler, RejectsInvalidOptions) {
  expect_refused("type: 'xavierr'", {2, 2}, "type", "did you mean 'xavier'?");
  expect_refused("type: 'Gaussian'", {2, 2}, "type", "gaussian");
  expect_refused("type: 'uniform' min: 2", {2, 2}, "min", "min 2 is above max 1");
  expect_refused("type: 'gaussian' std: -1", {2, 2}, "std", "negative");
  expect_refused("type: 'gaussian' sparse: 3", {2, 2}, "sparse", "between 0 and 2");
  expect_refused("type: 'xavier' sparse: 1", {2, 2}, "sparse", "only the gaussian");
  expect_refused("type: 'file'", {2, 2}, "file", "needs a file");
  expect_refused("type: 'bilinear'", {2, 2}, "type", "2x2");
  expect_refused("type: 'bilinear_3D'", {2, 2, 3, 3}, "type", "2x2x3x3");
  expect_refused("type: 'bilinear_3D'", {2, 2, 3, 3, 4}, "type", "2x2x3x3x4");
  expect_refused("type: 'bilinear'", {2, 2, 3, 4}, "type", "2x2x3x4");
}

}  // namespace
}  // namespace cortado::harness
