#pragma once

// Shared tests of Convolution3D and Deconvolution3D, with the options in each of their two messages.

#include <functional>
#include <string>
#include <vector>

#include "tests/harness/layer_harness.h"
#include "tests/harness/windows.h"

namespace cortado::harness {

/// Returns y from x, weights, bias, the window and the number of groups.
using VolumeConvolution =
    std::function<Array(const Array&, const Array&, const Array&, const std::vector<WindowAxis>&, int64_t)>;

inline void check_volumes(const std::string& type, const std::string& options, const Shape& x,
                          const std::vector<WindowAxis>& window, int64_t groups, const VolumeConvolution& definition) {
  for (const std::string message : {"convolution_param", "convolution3d_param"}) {
    SCOPED_TRACE(message + " " + options);
    check_layer({.layer = "type: '" + type + "' " + message + " { " + options + " }",
                 .x = {random(x, 1)},
                 .reference = [=](const Arrays& x, const Arrays& w) -> Arrays {
                   return {definition(x[0], w[0], w[1], window, groups)};
                 },
                 .same_bits_for_any_threads = false});
  }
}

}  // namespace cortado::harness
