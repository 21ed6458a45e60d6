#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

struct Window {
  int64_t pad, dilation;
};

/// images: N x C x H x W in a row, from `x` on; the sums of each image's 4 K gates of H x W, which keep the size.
std::vector<double> convolved(const double* x, const Shape& images, const Array& w, const Window& window) {
  const int64_t channels = images[1], height = images[2], width = images[3];
  std::vector<double> y(size_t(images[0] * w.shape[0] * height * width));
  size_t at = 0;
  for (int64_t n = 0; n < images[0]; ++n)
    for (int64_t k = 0; k < w.shape[0]; ++k)
      for (int64_t h = 0; h < height; ++h)
        for (int64_t v = 0; v < width; ++v, ++at)
          for (int64_t c = 0; c < channels; ++c)
            for (int64_t i = 0; i < w.shape[2]; ++i)
              for (int64_t j = 0; j < w.shape[3]; ++j) {
                const int64_t row = h + i * window.dilation - window.pad, column = v + j * window.dilation - window.pad;
                if (row < 0 || row >= height || column < 0 || column >= width) continue;
                y[at] += x[((n * channels + c) * height + row) * width + column] *
                         w[size_t(((k * channels + c) * w.shape[2] + i) * w.shape[3] + j)];
              }
  return y;
}

double sigmoid(double v) { return 1 / (1 + std::exp(-v)); }

struct Net {
  Shape x = {3, 2, 2, 3, 4};  ///< T x N x C x H x W
  int64_t channels = 2;
  Window of_x = {1, 1}, of_h = {1, 1};
  bool bias = true;
  int64_t peep_axis = 3, peep_axes = 2;  ///< 0 axes: no peepholes
  bool exposed = false;
};

/// The index of the peephole weight of unit u, for a state of K x H x W.
size_t peep(const Net& net, int64_t u) {
  const int64_t extents[] = {net.channels, net.x[3], net.x[4]};
  int64_t inner = 1, size = 1;
  for (int64_t axis = net.peep_axis + net.peep_axes; axis < 5; ++axis) inner *= extents[axis - 2];
  for (int64_t axis = net.peep_axis; axis < net.peep_axis + net.peep_axes; ++axis) size *= extents[axis - 2];
  return size_t(u / inner % size);
}

/// y, h and c after the last step, by the equations of Shi et al.
Arrays conv_lstm(const Arrays& x, const Arrays& w, const Net& net) {
  const int64_t steps = net.x[0], lanes = net.x[1], pixels = net.x[3] * net.x[4], units = net.channels * pixels;
  const size_t state = size_t(lanes * units), b = net.bias, first_peep = 2 + b;
  Array y({steps, lanes, net.channels, net.x[3], net.x[4]}), h({1, lanes, net.channels, net.x[3], net.x[4]}), c = h;
  if (net.exposed) h.values = x[2].values, c.values = x[3].values;
  const Shape images = {lanes, net.x[2], net.x[3], net.x[4]}, states = {lanes, net.channels, net.x[3], net.x[4]};
  for (int64_t t = 0; t < steps; ++t) {
    for (size_t i = 0; i < state; ++i) {
      const double cont = x[1][size_t(t * lanes) + i / size_t(units)];
      h[i] *= cont, c[i] *= cont;
    }
    const auto from_x = convolved(&x[0].values[size_t(t * images.count())], images, w[0], net.of_x);
    const auto from_h = convolved(h.values.data(), states, w[1 + b], net.of_h);
    for (int64_t n = 0; n < lanes; ++n)
      for (int64_t u = 0; u < units; ++u) {
        const auto sum = [&](int64_t gate) {
          const size_t at = size_t(n * 4 * units + gate * units + u);
          return from_x[at] + from_h[at] + (net.bias ? w[1][size_t(gate * net.channels + u / pixels)] : 0);
        };
        const auto seen = [&](size_t gate, double cell) {
          return net.peep_axes > 0 ? w[first_peep + gate][peep(net, u)] * cell : 0;
        };
        const size_t i = size_t(n * units + u);
        const double next =
            sigmoid(sum(1) + seen(1, c[i])) * c[i] + sigmoid(sum(0) + seen(0, c[i])) * std::tanh(sum(3));
        y[size_t(t) * state + i] = sigmoid(sum(2) + seen(2, next)) * std::tanh(next);
        c[i] = next;
      }
    for (size_t i = 0; i < state; ++i) h[i] = y[size_t(t) * state + i];
  }
  return {y, h, c};
}

LayerCase sequences(const Net& net, const std::string& options) {
  LayerCase layer_case{
      .layer = "type: 'ConvLSTM' " + options,
      .x = {random(net.x, 1), Array({net.x[0], net.x[1]}, 1.0)},
      .reference = [=](const Arrays& x, const Arrays& w) -> Arrays {
        Arrays y = conv_lstm(x, w, net);
        if (!net.exposed) y.resize(1);
        return y;
      },
      .tolerance = 2e-4,
      .same_bits_for_any_threads = false,  // nor are the gradients of convolutions
  };
  layer_case.x[1][0] = 0, layer_case.x[1][3] = 0;
  if (net.exposed) {
    const Shape state = {1, net.x[1], net.channels, net.x[3], net.x[4]};
    layer_case.layer +=
        " recurrent_param { expose_hidden: true } bottom: 'x' bottom: 'cont' bottom: 'h' bottom: 'c' "
        "top: 'y' top: 'ht' top: 'ct'";
    layer_case.x.push_back(random(state, 5));
    layer_case.x.push_back(random(state, 6));
  } else {
    layer_case.x[1][1] = 0;  // the reference does not know the state of earlier passes
    layer_case.layer += " bottom: 'x' bottom: 'cont' top: 'y'";
  }
  return layer_case;
}

const std::string kConv = "lstm_conv_param { num_output: 2 kernel_size: 3 pad: 1 ";

TEST(ConvLSTM, MatchesTheEquations) {
  check_layer(sequences({}, kConv + "}"));
  check_layer(sequences({.exposed = true}, kConv + "}"));
}

TEST(ConvLSTM, UsesTheConvolutionOptions) {
  check_layer(sequences({.of_x = {2, 2}, .of_h = {2, 2}, .bias = false},
                        "lstm_conv_param { num_output: 2 kernel_size: 3 pad: 2 dilation: 2 bias_term: false }"));
  check_layer(sequences({.of_x = {0, 1}},
                        "lstm_conv_param { type: 'input' num_output: 2 kernel_size: 1 } "
                        "lstm_conv_param { type: 'hidden' num_output: 2 kernel_size: 3 pad: 1 }"));
}

TEST(ConvLSTM, UsesTheHadamardAxes) {
  check_layer(sequences({.peep_axes = 0}, kConv + "} lstm_debug_param { disable_hadamard: true }"));
  check_layer(sequences({.peep_axis = 2, .peep_axes = 3},
                        kConv + "} lstm_debug_param { axis_hadamard: 2 num_axes_hadamard: 3 }"));
  check_layer(sequences({.peep_axis = 2, .peep_axes = 1, .exposed = true},
                        kConv + "} lstm_debug_param { axis_hadamard: 2 num_axes_hadamard: 1 }"));
}

TEST(ConvLSTM, KeepsItsStateBetweenPasses) {
  const Net net{.x = {2, 1, 1, 3, 3}};
  const Array first = random(net.x, 1), ones({2, 1}, 1.0);
  const std::string layer = "type: 'ConvLSTM' bottom: 'x' bottom: 'cont' top: 'y' " + kConv + "}";
  LayerRun run(layer, {first, ones}, {.backward = false});
  run.forward();
  run.forward();
  Array twice({4, 1, 1, 3, 3});
  for (size_t i = 0; i < twice.size(); ++i) twice[i] = first[i % first.size()];
  const Array y = conv_lstm({twice, Array({4, 1}, 1.0)}, run.w(), {.x = twice.shape})[0];
  const std::vector<double> last(y.values.begin() + 36, y.values.end());
  expect_near(run.y()[0], Array({2, 1, 2, 3, 3}, last), 1e-5, "second pass");
}

TEST(ConvLSTM, ReportsErrors) {
  const std::vector<Shape> x = {{3, 2, 2, 3, 4}, {3, 2}};
  const auto expect = [](const std::string& options, const std::vector<Shape>& x, const std::string& field,
                         const std::string& words) {
    std::string bottoms = " top: 'y' ";
    for (size_t i = 0; i < x.size(); ++i) bottoms += "bottom: 'b" + std::to_string(i) + "' ";
    expect_field_error("type: 'ConvLSTM'" + bottoms + options, x, field, words);
  };
  expect("", x, "lstm_conv_param", "it is missing");
  expect("lstm_conv_param { type: 'hidden' num_output: 2 kernel_size: 1 }", x, "lstm_conv_param", "of the input is");
  expect("lstm_conv_param { type: 'input' num_output: 2 kernel_size: 1 }", x, "lstm_conv_param", "of the state is");
  expect("lstm_conv_param { type: 'out' }", x, "lstm_conv_param[0].type", "convolution type 'out' is unknown");
  expect(kConv + "} " + kConv + "}", x, "lstm_conv_param[1].type", "it is set twice");
  expect("lstm_conv_param { kernel_size: 1 }", x, "lstm_conv_param[0].num_output", "it is 0");
  expect("lstm_conv_param { num_output: 2 kernel_size: 3 }", {{3, 2, 2, 9, 9}, {3, 2}}, "lstm_conv_param[0]",
         "changes its size");
  expect("lstm_conv_param { num_output: 2 kernel_size: 9 }", x, "lstm_conv_param[0].kernel_size[0]", "9");
  expect(kConv + "axis: 2 }", x, "lstm_conv_param[0].axis", "follow those of time");
  expect(kConv + "} recurrent_param { num_output: 2 }", x, "recurrent_param.num_output", "not available");
  expect(kConv + "} lstm_debug_param { expose: 'c' }", x, "lstm_debug_param.expose", "not available");
  expect(kConv + "} lstm_debug_param { ignore_x: true }", x, "lstm_debug_param.ignore_x", "not available");
  expect(kConv + "} lstm_debug_param { axis_hadamard: 1 }", x, "lstm_debug_param.axis_hadamard", "2 to 4");
  expect(kConv + "} lstm_debug_param { num_axes_hadamard: 3 }", x, "lstm_debug_param.num_axes_hadamard",
         "not among the five");
  expect(kConv + "}", {{3, 2, 2, 3}, {3, 2}}, "bottom[0]", "must be steps x sequences x channels");
  expect(kConv + "}", {{3, 2, 2, 3, 4}, {3}}, "bottom[1]", "3 steps of 2 sequences");
  expect(kConv + "} recurrent_param { expose_hidden: true }", x, "bottom", "4 bottoms");
  expect_field_error(
      "type: 'ConvLSTM' top: 'y' top: 'h' top: 'c' " + kConv + "} recurrent_param { expose_hidden: true }",
      {{3, 2, 2, 3, 4}, {3, 2}, {1, 2, 2, 3, 4}, {1, 2, 2, 3, 3}}, "bottom[3]", "the state is 1x2x2x3x4");
}

}  // namespace
}  // namespace cortado::harness
