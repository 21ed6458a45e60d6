#pragma once

// The configuration of a ConvLSTM (layers/types/conv_lstm.cu) from its options: its sizes, its two convolutions, and
// its weights in order.

#include "kernels/conv.h"
#include "layers/layer.h"

namespace cortado {

class ConvLstmForm {
 public:
  /// The weights. `bias` is missing without bias_term, the peepholes with disable_hadamard; then the following ones
  /// move up.
  enum Weight { kX, kBias, kH, kPeepIn, kPeepForget, kPeepOut };

  /// Throws FieldError.
  explicit ConvLstmForm(const caffe::LayerParameter& config);

  /// Throws FieldError.
  LayerShapes infer(const std::vector<Shape>& x);

  bool exposes() const { return exposes_; }
  bool has_bias() const { return x_options_.bias_term(); }
  bool has_peepholes() const { return peeps_; }
  size_t weight(Weight which) const { return size_t(which) - (which > kBias && !has_bias()); }

  int64_t steps() const { return steps_; }
  int64_t lanes() const { return lanes_; }
  int64_t units() const { return channels_ * pixels_; }  ///< of one sequence's state: channels x height x width
  int64_t gates() const { return 4 * units(); }
  int64_t peep_size() const { return peep_size_; }    ///< values of a peephole weight
  int64_t peep_inner() const { return peep_inner_; }  ///< contiguous state values that share one

  /// The convolution of all of x, and that of the state for `steps` steps.
  const kernels::ConvShape& of_x() const { return of_x_; }
  kernels::ConvShape of_state(int64_t steps) const;

 private:
  void read_convolutions(const caffe::LayerParameter& config);
  void check_recurrent(const caffe::RecurrentParameter& options) const;
  void check_sequences(const std::vector<Shape>& x) const;
  void settle_convolutions(const Shape& x);
  void settle_peepholes(const Shape& state);
  void add_weights(LayerShapes& shapes) const;

  const caffe::LSTMDebugParameter peephole_options_;
  caffe::ConvolutionParameter x_options_, h_options_;
  std::string x_field_ = "lstm_conv_param[0]", h_field_ = "lstm_conv_param[0]";
  bool exposes_, peeps_;
  int tops_;
  int64_t channels_ = 0, steps_ = 0, lanes_ = 0, pixels_ = 0, peep_size_ = 0, peep_inner_ = 1;
  Shape peep_shape_;
  kernels::ConvShape of_x_, of_h_;
};

}  // namespace cortado
