#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "core/error.h"
#include "layers/common/weights/filler.h"
#include "layers/registry.h"
#include "layers/roles.h"
#include "tests/harness/layer_harness.h"
#include "tests/harness/places.h"
#include "tests/harness/python_here.h"

namespace cortado::harness {
namespace {

/// Python reads PYTHONPATH when the interpreter starts.
const bool path_is_set = ::setenv("PYTHONPATH", in_source("tests/layers/python").c_str(), 1) == 0 &&
                         ::setenv("PYTHONDONTWRITEBYTECODE", "1", 1) == 0;

class Python : public testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_PYTHON();
    ASSERT_TRUE(path_is_set);
  }
};

std::string layer(const std::string& name, const std::string& more = "", const std::string& module = "tested_layers") {
  return "type: 'Python' " + (more.find("top:") == std::string::npos ? "top: 'y' " : std::string()) +
         "python_param { module: '" + module + "' layer: '" + name + "' " +
         (more.find("param_str") == std::string::npos ? "} " + more : more + " }");
}

std::string failing(const std::string& where) { return layer("Fails", "param_str: '" + where + "'"); }

TEST_F(Python, AClassWithWeightsIsALayer) {
  check_layer({
      .layer = layer("Mix"),
      .x = {random({3, 4}, 1), random({3, 4}, 2)},
      .reference = [](const Arrays& x, const Arrays& w) -> Arrays {
        Array y = x[1];
        for (size_t i = 0; i < y.size(); ++i) y[i] += w[0][i % 4] * x[0][i] * x[0][i];
        return {y};
      },
  });
}

TEST_F(Python, BackwardMayReadTops) {
  check_layer({
      .layer = layer("FromY"),
      .x = {random({2, 3, 2, 2}, 1)},
      .reference = [](const Arrays& x, const Arrays&) -> Arrays {
        return {map(x[0], [](double v) { return std::exp(v); })};
      },
  });
}

TEST_F(Python, InPlaceBottomAndTopAreOneBlob) {
  check_layer({
      .layer = layer("FirstColumnOff", "bottom: 'a' top: 'a'"),
      .x = {random({3, 4}, 1)},
      .reference = [](const Arrays& x, const Arrays&) -> Arrays {
        Array y = x[0];
        for (size_t i = 0; i < y.size(); i += 4) y[i] = 0;
        return {y};
      },
  });
}

TEST_F(Python, WeightsStartWithSetupsValues) {
  const MadeLayer made(layer("Mix"), "", {{2, 3}, {2, 3}});
  ASSERT_EQ(made.shapes.w.size(), 1u);
  EXPECT_EQ(made.shapes.w[0].shape, Shape({3}));
  Context context;
  std::vector<float> values(3);
  fill(context, made.shapes.w[0].filler, made.shapes.w[0].shape, 1, values.data());
  EXPECT_EQ(values, (std::vector<float>{0.5f, 1.5f, 2.5f}));
}

TEST_F(Python, OptionsArriveUnderEitherAttribute) {
  for (const caffe::Phase phase : {caffe::TRAIN, caffe::TEST}) {
    LayerRun run(layer("Options", "param_str: 'four'"), {}, {.phase = phase, .backward = false});
    run.forward();
    EXPECT_EQ(run.y()[0].values, (std::vector<double>{phase == caffe::TRAIN ? 0.0 : 1.0, 4}));
  }
}

TEST_F(Python, AFormerNameOfTheOptionsIsRead) {
  const auto options = [](const std::string& text) {
    LayerRun run(layer("Options", text), {}, {.backward = false});
    run.forward();
    return run.y()[0][1];
  };
  EXPECT_EQ(options("param_str_: 'four'"), 4);
  EXPECT_EQ(options("param_str_: 'four' param_str: 'seven'"), 5);
}

TEST_F(Python, BlobsBehaveLikeCaffes) {
  for (const Device& device : {Device(), tested_devices()[0]}) {
    LayerRun run(layer("Blobs"), {Array({3, 4}, 1.0)}, {.device = device, .backward = false});
    for (int pass = 0; pass < 2; ++pass) run.forward();
    EXPECT_EQ(run.y()[0].shape, Shape({2, 5}));
    EXPECT_EQ(run.y()[0][0], 12);
  }
}

TEST_F(Python, ErrorsNameTheirFields) {
  expect_field_error("type: 'Python' python_param { layer: 'x' }", {}, "python_param.module", "module is missing");
  expect_field_error("type: 'Python' python_param { module: 'x' }", {}, "python_param.layer", "layer is missing");
  expect_field_error(layer("x", "", "no_such_module"), {}, "python_param.module",
                     "module 'no_such_module' is not in the working folder");
  expect_field_error(layer("x", "", "tested_layers.part"), {}, "python_param.module",
                     "module 'tested_layers.part' is not in the working folder");
  expect_field_error(layer("x", "", "broken_module"), {}, "python_param.module",
                     "module 'broken_module' cannot be imported: ModuleNotFoundError: No module named "
                     "'a_module_that_is_nowhere'");
  expect_field_error(layer("Fail"), {}, "python_param.layer", "has no class 'Fail'; it has Blobs, Fails,");
  expect_field_error(layer("NotAClass"), {}, "python_param.layer", "has no class 'NotAClass'");
  expect_field_error(layer("NeedsArguments"), {}, "python_param.layer", "__init__() raised TypeError");
  expect_field_error(layer("Mix"), {{2, 2}}, "python_param.layer", "ValueError: Mix has two bottoms, not 1");
  expect_field_error(layer("Mix"), {{2, 2}, {2, 3}}, "python_param.layer", "the shapes differ");
}

TEST_F(Python, ExceptionsHaveATraceback) {
  expect_field_error(failing("setup"), {{2}}, "python_param.layer",
                     "setup() raised KeyError: 'asked for\\nin setup'\nTraceback (most recent call last):\n  File ");
  expect_field_error(failing("reshape"), {{2}}, "python_param.layer", "tested_layers.py\", line ");
  for (const std::string where : {"forward", "backward"}) {
    LayerRun run(failing(where), {Array({2}, 1.0)});
    try {
      run.forward();
      run.backward({Array({1, 1}, 1.0)});
      ADD_FAILURE();
    } catch (const FieldError& error) {
      EXPECT_EQ(error.field(), "python_param.layer");
      EXPECT_NE(error.message().find(where + "() raised KeyError"), std::string::npos) << error.message();
      EXPECT_NE(error.message().find("in fail\n"), std::string::npos) << error.message();
    }
  }
}

TEST_F(Python, RejectsInvalidShapes) {
  expect_field_error(failing("shapeless"), {{2}}, "top[0]", "did not set its shape");
  expect_field_error(failing("bottom"), {{2}}, "python_param.layer", "not of its bottoms");
  expect_field_error(failing("negative"), {{2}}, "python_param.layer", "an extent is negative");
  expect_field_error(failing("huge"), {{2}}, "python_param.layer", "too large");
  expect_field_error(failing("fraction"), {{2}}, "python_param.layer", "cannot be interpreted as an integer");
}

TEST_F(Python, ATopKeepsItsShape) {
  LayerRun run(layer("Grows"), {}, {.backward = false});
  run.forward();
  try {
    run.forward();
    ADD_FAILURE();
  } catch (const FieldError& error) {
    EXPECT_EQ(error.field(), "top[0]");
    EXPECT_EQ(error.message(), "reshape() changed its shape to 3x3, but the first reshape() set 3x2");
  }
}

TEST_F(Python, RowsMayVaryIfTheClassDeclaresIt) {
  for (const Device& device : {Device(), tested_devices()[0]}) {
    LayerRun run(layer("Fewer"), {Array({3, 2}, {1, 2, -3, 4, 5, 6})}, {.device = device});
    run.forward();
    const auto& rows = dynamic_cast<const DynamicRows&>(run.layer());
    EXPECT_TRUE(rows.rows_vary());
    EXPECT_EQ(rows.current_shapes()[0], Shape({2, 2}));
    EXPECT_EQ(run.y()[0].values, (std::vector<double>{1, 2, 5, 6, 0, 0}));
    run.backward({Array({3, 2}, {1, 2, 3, 4, 5, 6})});
    EXPECT_EQ(run.dx(0).values, (std::vector<double>{1, 2, 0, 0, 3, 4}));
  }
  const MadeLayer made(layer("FromY"), "", {{2, 3}});
  EXPECT_FALSE(dynamic_cast<const DynamicRows&>(*made.layer).rows_vary());
}

caffe::LayerParameter config_of(const std::string& module, int bottoms) {
  caffe::LayerParameter config;
  config.set_type("Python");
  config.add_top("y");
  for (int i = 0; i < bottoms; ++i) config.add_bottom("x");
  config.mutable_python_param()->set_module(module);
  config.mutable_python_param()->set_layer("FromY");
  return config;
}

TEST(PythonWithoutData, ShapesAreUnknownIfItIsNotRun) {
  for (const int bottoms : {0, 1}) {
    const caffe::LayerParameter config = config_of("no_such_module", bottoms);
    LayerOptions options{.config = config};
    options.open_data = false;
    const auto made = find_layer_type("Python")->make(options);
    EXPECT_EQ(made->infer(std::vector<Shape>(size_t(bottoms), Shape{2})).y, std::vector<Shape>{Shape{-1}});
    EXPECT_FALSE(dynamic_cast<const DynamicRows&>(*made).rows_vary());
  }
}

}  // namespace
}  // namespace cortado::harness
