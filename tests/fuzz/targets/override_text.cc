// A --set override and a net, separated by a zero byte.
#include "proto/files/override.h"
#include "tests/fuzz/fuzzed.h"

void cortado::fuzz::fuzz(std::string_view input) {
  expect_answer([&] {
    const std::string set(take_text(input));
    const Overrides overrides({set});
    NetFile file = read_net_from_text(input, "net");
    overrides.apply(file);
  });
}
