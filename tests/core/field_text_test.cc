#include "core/field_text.h"

#include <gtest/gtest.h>

namespace cortado {
namespace {

std::string text(const std::string& field, const std::string& message) { return with_field({field, message}); }

TEST(FieldText, BeginsWithTheFieldUnlessTheMessageNamesIt) {
  EXPECT_EQ(text("a_param.mean_value", "there are 9"), "a_param.mean_value: there are 9");
  EXPECT_EQ(text("a_param.variance[2]", "it is 0"), "a_param.variance[2]: it is 0");
  EXPECT_EQ(text("a_param.pad", "the padding is 3"), "a_param.pad: the padding is 3");
  EXPECT_EQ(text("a_param.crop_h", "set both crop_h and crop_w"), "set both crop_h and crop_w");
  EXPECT_EQ(text("a_param.crop_h", "crop_height is 0"), "a_param.crop_h: crop_height is 0");
  EXPECT_EQ(text("bottom[1]", "has 3 bottoms"), "has 3 bottoms");
  EXPECT_EQ(text("", "it has no weights"), "it has no weights");
}

}  // namespace
}  // namespace cortado
