#pragma once

// What a layer's test is made of: the author gives the layer as text, inputs, and its forward pass in plain double
// arithmetic. check_layer() derives the rest: that
//   - forward agrees with the reference, in every layout the layer takes (use 20 channels: then blocks have padding)
//   - backward agrees with central differences of the reference, for x and for the weights
//   - dw is written or added to as told, an unwanted dx is left alone, a dy that does not arrive counts as zero
//   - in place gives the bits of out of place, and eight threads the bits of one
//   - what backward reads of y gives the bits of what is saved in its stead
//   - nothing is read or written that layers/layer.h forbids (layer_run.h)
//   - all of this holds on devices, and with values of 16 bits where the layer takes them

#include <functional>
#include <string>

#include "tests/harness/array.h"
#include "tests/harness/layer_run.h"

namespace cortado::harness {

struct LayerCase {
  std::string layer;  ///< "type: 'ReLU'"; bottoms and tops may be left out where they are as many as the type needs
  Arrays x;           ///< away from kinks
  std::function<Arrays(const Arrays& x, const Arrays& w)> reference;  ///< the y of x and w
  Arrays w = {};                                                      ///< random where missing or empty
  std::string follower = {};  ///< layers that this one must take over, one a line; the reference includes them
  caffe::Phase phase = caffe::TRAIN;
  double tolerance = 1e-4;  ///< of y, dx and dw: absolute up to 1, relative above
  bool same_bits_for_any_threads = true;
  bool channels_last = false;  ///< a layer that follows x's layout is run in channels-last, too
};

void check_layer(const LayerCase& layer_case);

/// That making or inferring the layer throws a FieldError for `field` whose message contains `words`.
void expect_field_error(const std::string& layer, const std::vector<Shape>& x, const std::string& field,
                        const std::string& words);

/// That two arrays agree to within `tolerance`, absolute up to 1, relative above.
void expect_near(const Array& got, const Array& expected, double tolerance, const std::string& what);

}  // namespace cortado::harness
