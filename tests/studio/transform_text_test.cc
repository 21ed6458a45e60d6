// Augmentation options of the page as prototxt.

#include "studio/transform_text.h"

#include <gtest/gtest.h>

namespace cortado::studio {
namespace {

TEST(TransformText, numbers_become_fields) {
  EXPECT_EQ(transform_text(Json::object()), "");
  EXPECT_EQ(transform_text({{"rotate", 0}}), "");
  EXPECT_EQ(transform_text({{"crop_size", 24}}), "transform_param {\n  crop_size: 24\n}\n");
  EXPECT_EQ(transform_text({{"crop_size", 24}, {"erase", 0.5}, {"rotate", 20}}),
            "transform_param {\n  crop_size: 24\n  augment {\n    erase { prob: 0.5 }\n    rotate: 20\n  }\n}\n");
}

TEST(TransformText, other_values_are_refused) {
  EXPECT_THROW(transform_text({{"mean_file", 1}}), http::RequestError);
  EXPECT_THROW(transform_text({{"rotate", "1 } python_param {"}}), http::RequestError);
  EXPECT_THROW(transform_text(Json::array()), http::RequestError);
}

}  // namespace
}  // namespace cortado::studio
