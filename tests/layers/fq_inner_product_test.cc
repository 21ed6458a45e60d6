#include "tests/layers/fq_layers.h"

namespace cortado::harness {
namespace {

const FixedPointLayer kLayer = {"InnerProduct", " inner_product_param { num_output: 20 }", {4, 6, 5}, {20, 30}};

TEST(FQInnerProduct, HasTheGradientsOfRoundedWeights) {
  check_layer(
      case_of_rounded_weights("type: 'FQInnerProduct' inner_product_param { num_output: 20 }", {4, 3}, {20, 3}));
}

TEST(FQInnerProduct, IsInnerProductOfRoundedWeights) { kLayer.expect_rounded_on_all_devices(); }

TEST(FQInnerProduct, TestsUseWhatIsStored) { kLayer.expect_tests_use_what_is_stored(); }

TEST(FQInnerProduct, StoresTheLevels) { kLayer.expect_stores_levels(); }

TEST(FQInnerProduct, StartsWith256Levels) { kLayer.expect_levels_are_not_learned(); }

TEST(FQInnerProduct, ReportsErrorsOfInnerProduct) {
  expect_field_error("type: 'FQInnerProduct' ", {{4, 6, 5}}, "inner_product_param", "num_output is missing");
}

}  // namespace
}  // namespace cortado::harness
