#include "tests/layers/fq_layers.h"

namespace cortado::harness {
namespace {

const FixedPointLayer kLayer = {"Convolution",
                                " convolution_param { num_output: 20 kernel_size: 3 pad: 1 stride: 2 }",
                                {2, 6, 7, 5},
                                {20, 6, 3, 3}};

TEST(FQConvolution, HasTheGradientsOfRoundedWeights) {
  check_layer(case_of_rounded_weights("type: 'FQConvolution' convolution_param { num_output: 20 kernel_size: 1 }",
                                      {2, 3, 4, 5}, {20, 3, 1, 1}));
}

TEST(FQConvolution, IsConvolutionOfRoundedWeights) { kLayer.expect_rounded_on_all_devices(); }

TEST(FQConvolution, TestsUseWhatIsStored) { kLayer.expect_tests_use_what_is_stored(); }

TEST(FQConvolution, StoresTheLevels) { kLayer.expect_stores_levels(); }

TEST(FQConvolution, StartsWith256Levels) { kLayer.expect_levels_are_not_learned(); }

TEST(FQConvolution, ReportsErrorsOfConvolution) {
  expect_field_error("type: 'FQConvolution' convolution_param { num_output: 4 }", {{2, 6, 7, 5}}, "convolution_param",
                     "kernel");
}

}  // namespace
}  // namespace cortado::harness
