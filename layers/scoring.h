#pragma once

// What a layer also is whose y say how good predictions are: it tells of what they are quotients, so that the scores of
// many batches become the score of all their samples, and which class it took each row for.

#include <cstddef>
#include <cstdint>

#include "core/context.h"

namespace cortado {

/// What y[k] of the latest forward() divides. `sums`, in the device's memory, are y[k].count() numerators and as many
/// denominators behind them. Null: all of y[k] was divided by `fixed`; 0: it is no quotient whose parts add up.
struct Quotient {
  const float* sums = nullptr;
  double fixed = 0;
};

/// The classes of the rows that the latest forward() judged, in the device's memory: first the true class of each row,
/// below 0 where the row does not count or its label is no class, then the class that its scores are best for.
struct JudgedClasses {
  const float* classes = nullptr;  ///< 2 x rows; null: the layer knows of no classes, or note_classes() was not called
  int64_t rows = 0;
};

class Scoring {
 public:
  virtual ~Scoring() = default;

  /// Of layers prepared without backward.
  virtual Quotient quotient(size_t k) const = 0;

  /// From now on forward() leaves judged_classes(). Takes memory. Called after prepare(). Returns the number of
  /// classes; 0: the layer compares no scores with labels.
  virtual int64_t note_classes(Context& context) {
    (void)context;
    return 0;
  }
  virtual JudgedClasses judged_classes() const { return {}; }

  /// Where y[0] lists judged detections, in the rows that layers/types/detection_evaluate.cc describes, the number of
  /// classes: its scores are average precisions over all rows of a test. Else 0.
  virtual int64_t detection_classes() const { return 0; }
};

}  // namespace cortado
