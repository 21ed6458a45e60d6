#pragma once

// The configuration of a DenseBlock (layers/types/dense_block.cu) from its options: its steps, each of one normalized
// convolution or, with use_BC, two, and its weights in order.

#include <vector>

#include "layers/common/weights/norm_conv.h"
#include "layers/layer.h"

namespace cortado {

class DenseBlockForm {
 public:
  /// Weights of one kind are contiguous, one for each step.
  enum Kind : int64_t {
    kFilter,
    kGamma,
    kBeta,
    kMeans,
    kVariances,
    kSmallFilter,
    kGamma2,
    kBeta2,
    kMeans2,
    kVariances2
  };

  /// One normalized convolution.
  struct Part {
    int64_t step;
    NormConv::Form form;
    Kind filter, gamma;  ///< the other weights of the normalization follow gamma
    int64_t moments;     ///< offset of its means among all means and variances; the variances follow them
  };

  /// Throws FieldError. `options` outlives this.
  DenseBlockForm(const caffe::DenseBlockParameter& options, caffe::Phase phase);

  /// Throws FieldError.
  LayerShapes infer(const Shape& x);

  bool bottleneck() const { return bottleneck_; }
  int64_t steps() const { return steps_; }
  int64_t initial() const { return initial_; }
  int64_t growth() const { return growth_; }
  int64_t total() const { return channels_before(steps_); }                   ///< channels of y
  int64_t middle() const { return bottleneck_ ? kBottleneck * growth_ : 0; }  ///< outputs of the 1 x 1 convolution
  int64_t channels_before(int64_t step) const { return initial_ + step * growth_; }
  size_t weight(int64_t kind, int64_t step) const { return size_t(kind * steps_ + step); }
  size_t factor() const { return size_t((bottleneck_ ? 10 : 5) * steps_); }  ///< index of the averages' common factor

  /// In the order of forward; valid after infer().
  const std::vector<Part>& parts() const { return parts_; }
  int64_t moments() const { return moments_; }  ///< means and variances of all parts

 private:
  static constexpr int64_t kBottleneck = 4;  ///< outputs of the 1 x 1 convolution, in units of growthRate

  void check_counts() const;
  void check_window() const;
  void add_part(const Shape& x, int64_t step, bool first);
  void add_filters(LayerShapes& shapes, bool small) const;
  void add_norms(LayerShapes& shapes, bool second) const;

  const caffe::DenseBlockParameter& options_;
  bool given_statistics_, bottleneck_;
  int64_t steps_, initial_, growth_, moments_ = 0;
  std::vector<Part> parts_;
};

}  // namespace cortado
