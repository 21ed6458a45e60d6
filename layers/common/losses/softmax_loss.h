#pragma once

// The base of losses with an internal softmax: p = softmax(x), loss = sum of the rows' losses / normalizer. A row is
// one of outer x inner of x, outer x classes x inner. The normalizer is that of loss_normalizer.h, with VALID the
// default. A second top is p, a third one the losses of the rows; unlike in Caffe their gradients are propagated. For
// .cu files.
//
// A derived layer defines its loss by a rule, created anew in each pass:
//   SoftmaxRows rows;                                                      the memory layout of the classes of a row
//   bool counts(int64_t r) const;                                          false: row r is ignored
//   bool valid(int64_t r) const;                                           whether its label is a class
//   float count(int64_t r) const;                                          its contribution to VALID's normalizer
//   float loss(int64_t r, const float* p) const;                           its loss
//   float slope(int64_t r, int64_t c, int64_t i, const float* p) const;    d loss / d x[i], where x[i] is of class c
// The last two are called only for valid rows that count. A label that is not a class is an error, reported in every
// pass (validate()); Caffe reads out of bounds.

#include "core/device/device_memory.h"
#include "kernels/softmax.h"
#include "layers/common/loops/copies.h"
#include "layers/common/loops/typed.h"
#include "layers/common/losses/class_labels.h"
#include "layers/common/losses/class_notes.h"
#include "layers/common/losses/loss_normalizer.h"
#include "layers/common/losses/softmax_rows.h"
#include "layers/layer.h"

namespace cortado {

namespace {

/// The contribution of a row to the loss: 0 if it is ignored.
template <typename Rule>
struct RowLoss {
  Rule rule;
  const float* p;
  float* losses;
  CORTADO_HD void operator()(int64_t r) const {
    losses[r] = !rule.counts(r) ? 0 : rule.valid(r) ? rule.loss(r, p) : NAN;
  }
};

/// For reduce_rows: the sums that NormalizeLoss reads.
template <typename Rule>
struct LossAndCount {
  Rule rule;
  const float* losses;
  CORTADO_HD float operator()(int64_t k, int64_t r) const {
    return k == 0 ? losses[r] : rule.counts(r) ? rule.count(r) : 0;
  }
};

template <typename Rule>
struct SoftmaxLossOf {
  /// The complete forward for a row.
  template <typename T>
  struct Forward {
    const T* x;
    float* p;
    RowLoss<Rule> loss;
    CORTADO_HD void operator()(int64_t r, const RowGroup& group) const {
      loss.rule.rows.write(r, x, p, group);
      if (group.leads()) loss(r);
    }
  };

  template <typename T>
  struct Backward {
    T* dx;
    Rule rule;
    const float *p, *normalizer;
    const float* dy;         ///< of the loss; null: none
    const float *dp, *sums;  ///< of p; dp null: none
    const float* dlosses;    ///< of the rows' losses; null: none
    /// For rows with contiguous classes.
    CORTADO_HD void operator()(int64_t i) const {
      const int64_t r = i / rule.rows.classes;
      write(r, i - r * rule.rows.classes, i);
    }
    CORTADO_HD void write(int64_t r, int64_t c, int64_t i) const {
      float gradient = 0;
      if ((dy || dlosses) && rule.counts(r) && rule.valid(r))
        gradient = rule.slope(r, c, i, p) * ((dy ? dy[0] / normalizer[0] : 0) + (dlosses ? dlosses[r] : 0));
      if (dp) gradient += p[i] * (dp[i] - sums[r]);
      dx[i] = gradient;
    }
  };

  /// For all others: contiguous elements are of the same class.
  template <typename T>
  struct BackwardRow : Backward<T> {
    CORTADO_HD void operator()(int64_t r) const {
      const SoftmaxRows& rows = this->rule.rows;
      for (int64_t c = 0, i = rows.at(r, 0); c < rows.classes; ++c, i += rows.inner) this->write(r, c, i);
    }
  };
};

}  // namespace

class SoftmaxLoss : public Layer, public ReadsClasses, public Scoring {
 public:
  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kReads}; }
  LayerRoles roles() override { return {.scoring = this, .classes = this}; }
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override;
  void validate(Context& context, const Operands& io) override;
  std::optional<ClassLabels> class_labels() const override;
  bool differentiable(int i) const override { return i == 0; }
  Ratio quotient(size_t k) const override;
  int64_t note_classes(Context& context) override;
  PredictedClasses predictions() const override { return notes_.judged(); }

 protected:
  explicit SoftmaxLoss(const LayerOptions& options);

  /// Sets the rows by the axis of the classes in x, the value of `field`. Returns the shapes of y. Throws FieldError.
  LayerShapes settle(const Shape& x, int64_t axis, const std::string& field);

  /// False: bottom[1] does not hold a class for each row.
  virtual bool names_classes() const { return true; }
  /// Number of floats that forward keeps for backward at kept().
  virtual int64_t kept_floats() const { return 0; }

  const caffe::LossParameter& options() const { return loss_; }
  SoftmaxRows places() const { return {classes_, inner_}; }
  int64_t rows() const { return outer_ * inner_; }
  int64_t classes() const { return classes_; }
  ClassLabels labels(const float* values) const;
  static float* kept(const Operands& io) { return normalizer(io) + 1; }

  /// Forward. `weighted`: the rule counts weights; VALID is then their sum.
  template <typename Rule>
  void forward_rows(Context& context, const Operands& io, const Rule& rule, bool weighted = false) {
    float *losses = static_cast<float*>(io.scratch), *sums = losses + rows();
    const RowLoss<Rule> loss{rule, p(io), losses};
    if (softmax_) {
      softmax_->forward(context, io.x[0].data, p(io), io.scratch);
      for_each(context, rows(), loss);
    } else {
      const auto run = [&](const auto& both) { for_each_row(context, rows(), inner_ == 1, both); };
      with_functor<SoftmaxLossOf<Rule>::template Forward>(run, io.x[0], p(io), loss);
    }
    reduce_rows(context, 2, rows(), LossAndCount<Rule>{rule, losses}, sums);
    for_each(context, 1,
             NormalizeLoss{sums, io.y[0].f32(), normalizer(io), fixed_normalizer(), quotient_data(), weighted});
    if (io.y.size() > 2) for_each(context, rows(), CopyValue<float>{losses, io.y[2].f32()});
    if (notes_.is_noting()) note_rows(context, io);
  }

  /// Backward.
  template <typename Rule>
  void backward_rows(Context& context, const Operands& io, const Rule& rule) {
    if (!io.dx[0]) return;
    const float *dy = io.dy[0].f32(), *dp = shows_p_ ? io.dy[1].f32() : nullptr;
    const float* dlosses = io.dy.size() > 2 ? io.dy[2].f32() : nullptr;
    float* sums = static_cast<float*>(io.scratch);
    if (dp) for_each(context, rows(), GradientOfP{places(), p(io), dp, sums});
    if (inner_ == 1) {
      for_each_typed<SoftmaxLossOf<Rule>::template Backward>(context, io.dx[0], rule, p(io), normalizer(io), dy, dp,
                                                             sums, dlosses);
    } else {
      const auto run = [&](const auto& row) { for_each(context, rows(), row); };
      with_functor<SoftmaxLossOf<Rule>::template BackwardRow>(run, io.dx[0], rule, p(io), normalizer(io), dy, dp, sums,
                                                              dlosses);
    }
  }

 private:
  void note_rows(Context& context, const Operands& io) const;
  float fixed_normalizer() const;
  float* quotient_data() const { return reinterpret_cast<float*>(quotient_.data()); }
  float* p(const Operands& io) const { return shows_p_ ? io.y[1].f32() : static_cast<float*>(io.saved[1]); }
  static float* normalizer(const Operands& io) { return static_cast<float*>(io.saved[0]); }

  const caffe::LossParameter& loss_;
  int tops_;
  bool shows_p_;  ///< there is a second top
  int64_t outer_ = 0, classes_ = 0, inner_ = 0;
  std::unique_ptr<kernels::Softmax> softmax_;  ///< computes p separately: for 32-bit floats on the CPU
  DeviceMemory quotient_;                      ///< the loss's sums, without backward
  ClassNotes notes_;
};

}  // namespace cortado
