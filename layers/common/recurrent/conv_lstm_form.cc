#include "layers/common/recurrent/conv_lstm_form.h"

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/weights/filler.h"
#include "layers/common/windows/conv_window.h"
#include "layers/common/windows/volume_options.h"

namespace cortado {

namespace {

/// The two messages have the same fields with the same numbers, except for the type.
caffe::ConvolutionParameter convolution_of(caffe::LSTMConvolutionParameter options) {
  options.clear_type();
  caffe::ConvolutionParameter convolution;
  convolution.ParseFromString(options.SerializeAsString());
  return convolution;
}

}  // namespace

ConvLstmForm::ConvLstmForm(const caffe::LayerParameter& config)
    : peephole_options_(config.lstm_debug_param()),
      exposes_(config.recurrent_param().expose_hidden()),
      peeps_(!config.lstm_debug_param().disable_hadamard()),
      tops_(config.top_size()) {
  check_recurrent(config.recurrent_param());
  refuse_fields(peephole_options_, "lstm_debug_param", {"expose"}, "only the states of the last step can be exposed");
  if (peephole_options_.ignore_x())
    throw FieldError("lstm_debug_param.ignore_x", "a layer that ignores its bottom is not available");
  read_convolutions(config);
}

void ConvLstmForm::check_recurrent(const caffe::RecurrentParameter& options) const {
  refuse_fields(options, "recurrent_param", {"num_output", "weight_filler", "bias_filler"},
                "set it in lstm_conv_param");
}

void ConvLstmForm::read_convolutions(const caffe::LayerParameter& config) {
  bool has_x = false, has_h = false;
  for (int i = 0; i < config.lstm_conv_param_size(); ++i) {
    const caffe::LSTMConvolutionParameter& given = config.lstm_conv_param(i);
    const std::string field = entry("lstm_conv_param", i), &type = given.type();
    if (type != "all" && type != "input" && type != "hidden")
      throw FieldError(field + ".type", "convolution type '" + type + "' is unknown", "use input, hidden or all");
    if (given.axis() != 1)
      throw FieldError(field + ".axis", "the axis of the channels must follow those of time and sequences",
                       "remove it");
    if ((type != "hidden" && has_x) || (type != "input" && has_h))
      throw FieldError(field + ".type", "it is set twice", "set one of type all, or one input and one hidden");
    if (type != "hidden") has_x = true, x_options_ = convolution_of(given), x_field_ = field;
    if (type != "input") has_h = true, h_options_ = convolution_of(given), h_field_ = field;
  }
  if (!has_x || !has_h)
    throw FieldError("lstm_conv_param",
                     has_h   ? "the convolution of the input is missing"
                     : has_x ? "the convolution of the state is missing"
                             : "it is missing",
                     "set one of type all, or one input and one hidden");
  channels_ = x_options_.num_output();
  if (channels_ == 0 || channels_ > INT32_MAX / 4)
    throw FieldError(x_field_ + ".num_output", "it is " + std::to_string(channels_),
                     "set the number of channels of the state");
  if (h_options_.num_output() != x_options_.num_output())
    throw FieldError(h_field_ + ".num_output", "it differs from the other convolution's",
                     "set " + std::to_string(channels_) + " in both");
  x_options_.set_num_output(uint32_t(4 * channels_));
  h_options_.set_num_output(uint32_t(4 * channels_));
}

void ConvLstmForm::check_sequences(const std::vector<Shape>& x) const {
  const int exposed = exposes_ ? 2 : 0;
  const std::string why = exposes_ ? "with expose_hidden the layer needs " : "without expose_hidden the layer needs ";
  if (int(x.size()) != 2 + exposed)
    throw FieldError("bottom", why + std::to_string(2 + exposed) + " bottoms, not " + std::to_string(x.size()),
                     "the bottoms are x, cont, and the exposed state and cells");
  if (tops_ != 1 + exposed)
    throw FieldError("top", why + count_of(1 + exposed, "top", "tops") + ", not " + std::to_string(tops_),
                     "the tops are the output, and the exposed state and cells");
  if (x[0].axes() != 5 || x[0].count() == 0)
    throw FieldError("bottom[0]",
                     "its shape is " + x[0].str() + ", but must be steps x sequences x channels x height x width");
  if (x[1].count() != x[0][0] * x[0][1])
    throw FieldError("bottom[1]",
                     "its shape is " + x[1].str() + ", but there are " + std::to_string(x[0][0]) + " steps of " +
                         count_of(x[0][1], "sequence", "sequences"),
                     "cont needs one number for each: 0 at the start of a sequence, else 1");
}

void ConvLstmForm::settle_convolutions(const Shape& x) {
  const Shape images = {steps_ * lanes_, x[2], x[3], x[4]};
  const ConvWindow of_x = ConvWindow::of_message(x_options_, x_field_);
  const auto x_axes = of_x.axes_for(images, "bottom[0]");
  of_x.check_channels(images[1]);
  of_x.check_kernel_fits(x_axes);
  of_x_ = of_x.shape_for(images, x_axes);
  of_x_.c = images[1], of_x_.k = 4 * channels_;
  const Shape state = {lanes_, channels_, of_x_.h.out(), of_x_.w.out()};
  const ConvWindow of_h = ConvWindow::of_message(h_options_, h_field_);
  const auto h_axes = of_h.axes_for(state, "bottom[0]");
  of_h.check_channels(channels_);
  of_h.check_kernel_fits(h_axes);
  of_h_ = of_h.shape_for(state, h_axes);
  of_h_.c = channels_, of_h_.k = 4 * channels_;
  if (of_h_.h.out() != state[2] || of_h_.w.out() != state[3])
    throw FieldError(h_field_,
                     "the convolution of the state changes its size from " + state.str() + " to " +
                         Shape{lanes_, channels_, of_h_.h.out(), of_h_.w.out()}.str(),
                     "pad it by dilation times half of the kernel, with a stride of 1");
  pixels_ = state.count(2);
}

kernels::ConvShape ConvLstmForm::of_state(int64_t steps) const {
  kernels::ConvShape shape = of_h_;
  shape.n = steps * lanes_;
  return shape;
}

/// state: 1 x N x C x H x W.
void ConvLstmForm::settle_peepholes(const Shape& state) {
  if (!peeps_) return;
  const int64_t axis = peephole_options_.axis_hadamard(), count = peephole_options_.num_axes_hadamard();
  if (axis < 2 || axis > 4)
    throw FieldError("lstm_debug_param.axis_hadamard", "it is " + std::to_string(axis) + ", but must lie in 2 to 4",
                     "set 2 (channels), 3 (height) or 4 (width)");
  if (count < 1 || axis + count > 5)
    throw FieldError("lstm_debug_param.num_axes_hadamard",
                     std::to_string(count) + " axes from axis " + std::to_string(axis) + " on are not among the five");
  std::vector<int64_t> extents;
  for (int64_t i = axis; i < axis + count; ++i) extents.push_back(state[int(i)]);
  peep_shape_ = Shape(extents);
  peep_size_ = peep_shape_.count();
  peep_inner_ = state.count(int(axis + count));
}

LayerShapes ConvLstmForm::infer(const std::vector<Shape>& x) {
  check_sequences(x);
  steps_ = x[0][0], lanes_ = x[0][1];
  settle_convolutions(x[0]);
  const Shape state = {1, lanes_, channels_, of_x_.h.out(), of_x_.w.out()};
  for (size_t i = 2; i < x.size(); ++i)
    if (x[i] != state)
      throw FieldError(entry("bottom", int64_t(i)), "its shape is " + x[i].str() + ", but the state is " + state.str());
  settle_peepholes(state);
  LayerShapes shapes;
  Shape y = state;
  y[0] = steps_;
  shapes.y.assign(size_t(tops_), state);
  shapes.y[0] = y;
  add_weights(shapes);
  return shapes;
}

void ConvLstmForm::add_weights(LayerShapes& shapes) const {
  shapes.w.push_back(filled_weight(x_options_.weight_filler(), of_x_.weight(), x_field_ + ".weight_filler"));
  if (has_bias())
    shapes.w.push_back(filled_weight(x_options_.bias_filler(), {4 * channels_}, x_field_ + ".bias_filler"));
  shapes.w.push_back(filled_weight(h_options_.weight_filler(), of_h_.weight(), h_field_ + ".weight_filler"));
  for (int i = 0; i < 3 && peeps_; ++i) shapes.w.push_back({.shape = peep_shape_, .filler = {}});
}

}  // namespace cortado
