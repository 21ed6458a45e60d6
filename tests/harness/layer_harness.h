#pragma once

// A layer's test has the layer as text, inputs, and the forward pass in double precision. check_layer() checks that
//   - forward agrees with the reference, in every layout that the layer supports (use 20 channels to have padding
//   lanes)
//   - backward agrees with central differences of the reference, for x and for the weights
//   - dw is written or accumulated as requested, a dx that is not requested stays unchanged, a missing dy counts as
//   zero
//   - in-place and out-of-place runs, and runs with one and eight threads, have the same bits, also if all x are one
//   - backward has the same bits whether it reads y or what forward saves in place of y
//   - the layer obeys layers/layer.h about reads and writes (layer_run.h)
//   - all of this holds on devices, and for 16-bit values if the layer supports them

#include <functional>
#include <string>

#include "tests/harness/array.h"
#include "tests/harness/layer_run.h"

namespace cortado::harness {

struct LayerCase {
  std::string layer;  ///< "type: 'ReLU'"; bottoms and tops may be omitted if their number is the type's minimum
  Arrays x;           ///< away from kinks
  std::function<Arrays(const Arrays& x, const Arrays& w)> reference;  ///< returns y
  /// What the gradients are the derivatives of, if that is not y.
  std::function<Arrays(const Arrays& x, const Arrays& w)> potential = {};
  Arrays w = {};              ///< missing or empty: random
  std::string follower = {};  ///< layers that must be fused into this one, one a line; the reference includes them
  caffe::Phase phase = caffe::TRAIN;
  double tolerance = 1e-4;  ///< of y, dx and dw: absolute for values up to 1, relative above
  bool same_bits_for_any_threads = true;
  bool channels_last = false;  ///< also run a layer that follows x's layout in channels last
};

void check_layer(const LayerCase& layer_case);

/// Expects that constructing the layer or inferring its shapes throws a FieldError for `field` whose message contains
/// `words`.
void expect_field_error(const std::string& layer, const std::vector<Shape>& x, const std::string& field,
                        const std::string& words);

/// Expects that two arrays agree within `tolerance`, absolute for values up to 1, relative above.
void expect_near(const Array& got, const Array& expected, double tolerance, const std::string& what);

}  // namespace cortado::harness
