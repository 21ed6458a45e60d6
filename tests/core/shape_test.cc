#include "core/shape.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace cortado {
namespace {

TEST(Shape, CountsElements) {
  EXPECT_EQ(Shape({2, 3, 4}).count(), 24);
  EXPECT_EQ(Shape({2, 3, 4}).count(1), 12);
  EXPECT_EQ(Shape({2, 3, 4}).count(0, 2), 6);
  EXPECT_EQ(Shape().count(), 1) << "a scalar is one element";
  EXPECT_EQ(Shape({5, 0, 7}).count(), 0);
}

TEST(Shape, ProductsNeverOverflow) {
  EXPECT_EQ(Shape({int64_t(1) << 31, int64_t(1) << 31}).count(), int64_t(1) << 62);
  EXPECT_THROW(Shape({int64_t(1) << 31, int64_t(1) << 31, 2}).count(), FieldError);
  EXPECT_THROW(Shape({int64_t(1) << 33, int64_t(1) << 33}).count(), FieldError) << "2^66 wraps to 4";
  EXPECT_THROW(checked_mul(INT64_MAX, 2), FieldError);
}

TEST(Shape, AxesCountFromEitherEnd) {
  const Shape shape{2, 3, 4};
  EXPECT_EQ(shape.canonical_axis(2), 2);
  EXPECT_EQ(shape.canonical_axis(-1), 2);
  EXPECT_EQ(shape.canonical_axis(-3), 0);
  EXPECT_EQ(shape.canonical_axis(3), -1);
  EXPECT_EQ(shape.canonical_axis(-4), -1);
  EXPECT_EQ(Shape().canonical_axis(0), -1);
}

TEST(Shape, PrintsItsExtents) {
  EXPECT_EQ(Shape({64, 20, 5, 5}).str(), "64x20x5x5");
  EXPECT_EQ(Shape().str(), "scalar");
}

}  // namespace
}  // namespace cortado
