#pragma once

// Records the true and the predicted class of each row of scores (layers/roles.h). A row is correct exactly if Accuracy
// with top_k 1 counts it as correct: if other classes have the same score as the true one, or a score is NaN, the first
// of the other best classes is the prediction. For .cu files.

#include "core/device/device_memory.h"
#include "layers/common/loops/typed.h"
#include "layers/common/losses/class_labels.h"
#include "layers/roles.h"

namespace cortado {

class ClassNotes {
 public:
  void start(Context& context, int64_t rows) {
    memory_ = DeviceMemory(context, size_t(2 * rows) * sizeof(float));
    rows_ = rows;
  }
  bool is_noting() const { return rows_ > 0; }
  float* data() const { return reinterpret_cast<float*>(memory_.data()); }
  PredictedClasses judged() const { return {data(), rows_}; }
  int64_t rows() const { return rows_; }

 private:
  DeviceMemory memory_;
  int64_t rows_ = 0;
};

namespace {

/// The classes of row r are `inner` apart.
template <typename T>
struct NoteClasses {
  const T* scores;
  ClassLabels labels;
  int64_t inner, rows;
  float* notes;

  CORTADO_HD void operator()(int64_t r) const {
    const bool judged = labels.counts(r) && labels.valid(r);
    const int64_t label = judged ? labels.at(r) : -1;
    notes[r] = float(label);
    notes[rows + r] = float(best(scores + r / inner * labels.classes * inner + r % inner, label));
  }
  /// The prediction without regard to the label: the first of the best.
  CORTADO_HD int64_t best(const T* own, int64_t label) const {
    int64_t best = label;
    bool beaten = label < 0;
    float most = label < 0 ? 0 : float(own[label * inner]);
    for (int64_t c = 0; c < labels.classes; ++c) {
      const float score = own[c * inner];
      const bool better = beaten ? best < 0 || score > most : !(score < most);
      if (c == label || !better) continue;
      best = c, most = score, beaten = true;
    }
    return best;
  }
};

/// Records the classes of all rows, if requested.
inline void note(Context& context, const ClassNotes& notes, const Tensor& scores, const ClassLabels& labels,
                 int64_t inner) {
  if (!notes.is_noting()) return;
  const auto each = [&](const auto& functor) { for_each(context, notes.rows(), functor); };
  with_functor<NoteClasses>(each, scores, labels, inner, notes.rows(), notes.data());
}

}  // namespace

}  // namespace cortado
