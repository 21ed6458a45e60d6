#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

std::vector<Shape> tops(const std::string& text) { return MadeLayer("type: 'Input' " + text, "", {}).shapes.y; }

TEST(Input, HasTheGivenShape) {
  EXPECT_EQ(tops("top: 'a' input_param { shape { dim: 1 dim: 3 dim: 8 dim: 9 } }"), (std::vector<Shape>{{1, 3, 8, 9}}));
  EXPECT_EQ(tops("top: 'a' top: 'b' input_param { shape { dim: 2 } }"), (std::vector<Shape>{{2}, {2}}));
  EXPECT_EQ(tops("top: 'a' top: 'b' input_param { shape { dim: 2 } shape { } }"), (std::vector<Shape>{{2}, {}}));
}

TEST(Input, RejectsInvalidShapes) {
  const std::string three = "type: 'Input' top: 'a' top: 'b' top: 'c' input_param { ";
  expect_field_error(three + "}", {}, "input_param.shape[0]", "0 shapes for 3 tops");
  expect_field_error(three + "shape {} shape {} }", {}, "input_param.shape[0]", "2 shapes for 3 tops");
  expect_field_error(three + "shape { dim: 1 dim: -1 } }", {}, "input_param.shape[0]", "-1 is negative");
  expect_field_error(three + "shape { dim: 1000000000000 dim: 1000000000000 } }", {}, "input_param.shape[0]",
                     "overflows");
  std::string many;
  for (int i = 0; i < 33; ++i) many += " dim: 1";
  expect_field_error(three + "shape {" + many + " } }", {}, "input_param.shape[0]", "33 axes");
}

}  // namespace
}  // namespace cortado::harness
