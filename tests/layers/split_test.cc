#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

std::string split_into(size_t n) {
  std::string text = "type: 'Split'";
  for (size_t i = 0; i < n; ++i) text += " top: 'y" + std::to_string(i) + "'";
  return text;
}

TEST(Split, PassesXToEveryReaderAndSumsTheirGradients) {
  for (const size_t n : {1, 2, 3, 4, 5, 8}) {
    SCOPED_TRACE(n);
    check_layer({
        .layer = split_into(n),
        .x = {random({2, 20, 2, 2}, 1)},
        .reference = [n](const Arrays& x, const Arrays&) { return Arrays(n, x[0]); },
        .channels_last = true,
    });
  }
}

TEST(Split, AcceptsMissingGradients) {
  for (const size_t arriving : {0, 1, 6}) {
    RunOptions options;
    options.has_dy.assign(7, false);
    Arrays dy(7, Array(Shape{5}));
    double sum = 0;
    for (size_t i = 0; i < arriving; ++i) {
      options.has_dy[6 - i] = true;
      dy[6 - i] = Array({5}, double(1 << i));
      sum += double(1 << i);
    }
    LayerRun run(split_into(7), {random({5}, 1)}, options);
    run.forward();
    run.backward(dy);
    expect_near(run.dx(0), Array({5}, sum), 0, "dx");
  }
}

}  // namespace
}  // namespace cortado::harness
