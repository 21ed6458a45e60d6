#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

std::string layer(const std::string& options) { return "type: 'Embed' embed_param { " + options + " }"; }

LayerCase embed(const std::string& options, const Shape& shape, int64_t rows, int64_t width) {
  return {
      .layer = layer(options + " input_dim: " + std::to_string(rows) + " num_output: " + std::to_string(width)),
      .x = {random_labels(shape, 1, rows)},
      .reference = [=](const Arrays& x, const Arrays& w) -> Arrays {
        std::vector<int64_t> dims = x[0].shape.dims();
        dims.push_back(width);
        Array y{Shape(dims)};
        for (size_t i = 0; i < y.size(); ++i) {
          const size_t column = i % size_t(width);
          y[i] = w[0][size_t(x[0][i / size_t(width)]) * size_t(width) + column] + (w.size() > 1 ? w[1][column] : 0);
        }
        return {y};
      },
  };
}

TEST(Embed, LooksUpRows) { check_layer(embed("", {7}, 5, 3)); }
TEST(Embed, AddsAnAxis) { check_layer(embed("", {4, 2, 3}, 3, 5)); }
TEST(Embed, WithoutBias) { check_layer(embed("bias_term: false", {3, 4}, 20, 2)); }
TEST(Embed, AcceptsEmptyInputs) { check_layer(embed("", {0}, 5, 3)); }

TEST(Embed, FillsItsTable) {
  const MadeLayer made(layer("input_dim: 5 num_output: 3 weight_filler { type: 'xavier' } bias_filler { value: 2 }"),
                       "", {{2}});
  EXPECT_EQ(made.shapes.w[0].shape, (Shape{5, 3}));
  EXPECT_EQ(made.shapes.w[0].filler.type(), "xavier");
  EXPECT_EQ(made.shapes.w[1].filler.value(), 2);
}

TEST(Embed, RejectsInvalidIndices) {
  for (const double index : {5.0, -1.0, double(NAN)}) {
    LayerRun run(layer("input_dim: 5 num_output: 3"), {Array({2}, {4, index})});
    try {
      run.forward();
      ADD_FAILURE() << index;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kData);
      EXPECT_NE(error.mistakes()[0].message.find("at place 1 is not one of the 5 rows of the table"), std::string::npos)
          << error.what();
    }
  }
}

TEST(Embed, InvalidIndicesYieldNanOnDevices) {
  for (const Device& device : tested_devices()) {
    LayerRun run(layer("input_dim: 5 num_output: 1"), {Array({2}, {4, 5})}, {.device = device});
    run.forward();
    EXPECT_FALSE(std::isnan(run.y()[0][0]));
    EXPECT_TRUE(std::isnan(run.y()[0][1]));
    EXPECT_THROW(run.validate(), Error);
    run.backward({Array({2, 1}, 1.0)});
    EXPECT_EQ(run.dw(0).values, (std::vector<double>{0, 0, 0, 0, 1}));
  }
}

TEST(Embed, ReportsErrors) {
  expect_field_error(layer("input_dim: 5"), {{2}}, "embed_param", "num_output is missing");
  expect_field_error(layer("num_output: 5"), {{2}}, "embed_param", "input_dim is missing");
  expect_field_error(layer("input_dim: 5 num_output: 0"), {{2}}, "embed_param.num_output", "num_output is 0");
  expect_field_error(layer("input_dim: 0 num_output: 5"), {{2}}, "embed_param.input_dim", "input_dim is 0");
  expect_field_error(layer("input_dim: 5 num_output: 5 weight_filler { type: 'no' }"), {{2}},
                     "embed_param.weight_filler.type", "no");
  expect_field_error(layer("input_dim: 5 num_output: 5"), {Shape(std::vector<int64_t>(32, 1))}, "bottom[0]", "32 axes");
}

}  // namespace
}  // namespace cortado::harness
