#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// A window of 2 x 2 positions, the corners of a map of 3 x 3; pw_attend_test.cc has other windows.
TEST(AttPooling, SumsTheWindow) {
  check_layer({.layer = "type: 'AttPooling' att_pooling_param { att_mode: GLOBAL kernel_size: 2 dilation: 2 }",
               .x = {random({1, 2, 3, 3}, 1), random({1, 4, 2, 5}, 2)},
               .reference = [](const Arrays& x, const Arrays&) -> Arrays {
                 Array y({1, 2, 2, 5});
                 const size_t corners[] = {0, 2, 6, 8};
                 for (size_t i = 0; i < y.size(); ++i)
                   for (size_t k = 0; k < 4; ++k) y[i] += x[1][10 * k + i % 10] * x[0][9 * (i / 10) + corners[k]];
                 return {y};
               }});
}

}  // namespace
}  // namespace cortado::harness
