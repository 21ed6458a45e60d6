// A .caffemodel as a net.
#include "proto/files/binary_net.h"

#include "proto/upgrade/upgrade.h"
#include "tests/fuzz/fuzzed.h"

void cortado::fuzz::fuzz(std::string_view input) {
  expect_answer([&] {
    caffe::NetParameter net = parse_net(input, "net");
    Positions positions("net");
    upgrade_net(net, positions);
  });
}
