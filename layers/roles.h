#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/context.h"
#include "core/shape.h"

// What a layer may be besides a Layer, and how others learn of it.

namespace cortado::data {
class DataPipeline;
}

namespace cortado {

class ReadsClasses;
class WrittenInPython;

/// What a layer may be besides a Layer: forward() leaves something for later passes, or outside of the net, even where
/// nothing runs backward, so that the batches of a test all have to come to this one object, in their order. Neither a
/// place in the data (DataCursor) nor draws by the number of a pass are such a thing.
class BatchMemory {
 public:
  virtual ~BatchMemory() = default;
  /// Whether this one does, by its options; known before infer().
  virtual bool is_stateful() const { return true; }
  /// The values that forward() leaves for the next pass besides weights, where the context computes; none if there are
  /// no such values. Known after prepare(). Snapshots hold them.
  virtual std::span<float> carried() { return {}; }
};

/// What a data layer is besides a Layer: a place in its data.
class DataCursor {
 public:
  virtual ~DataCursor() = default;
  virtual uint64_t position() const = 0;     ///< records of all processes that were consumed since training began
  virtual void seek(uint64_t position) = 0;  ///< forward() goes on there
  virtual void repeat() = 0;                 ///< the next forward() makes the batch of the latest one again
  virtual double wait_seconds() const { return 0; }  ///< spent waiting for data so far
};

/// What a layer is, besides a Layer, whose number of rows only the values of a pass tell. infer() gives the most there
/// can be. graph/dynamic_rows_layer.h has it and all that reads its tops run on the rows that there are.
class DynamicRows {
 public:
  virtual ~DynamicRows() = default;
  /// False where this one's rows are always as many as infer() said. Asked after infer().
  virtual bool rows_vary() const { return true; }
  /// The shapes of y after forward(), which has set the rest of y to 0: the same axes, not more rows.
  virtual std::vector<Shape> current_shapes() const = 0;
};

/// What a data layer is that reads a set of known size, record after record: position() 0 is its first one.
class RecordSource : public DataCursor {
 public:
  virtual int64_t records() const = 0;                     ///< of the set; 0 where it was not opened
  virtual const data::DataPipeline* pipeline() const = 0;  ///< what reads it; null where it was not opened
};

// What a layer also is whose y say how good predictions are: it tells of what they are quotients, so that the scores of
// many batches become the score of all their samples, and which class it took each row for.

/// What y[k] of the latest forward() divides. `sums`, in the device's memory, are y[k].count() numerators and as many
/// denominators behind them. Null: all of y[k] was divided by `fixed`; 0: it is no quotient whose parts add up.
struct Ratio {
  const float* sums = nullptr;
  double fixed = 0;
};

/// The classes of the rows that the latest forward() judged, in the device's memory: first the true class of each row,
/// below 0 where the row does not count or its label is no class, then the class that its scores are best for.
struct PredictedClasses {
  const float* classes = nullptr;  ///< 2 x rows; null: the layer knows of no classes, or note_classes() was not called
  int64_t rows = 0;
};

class Scoring {
 public:
  virtual ~Scoring() = default;

  /// Of layers prepared without backward.
  virtual Ratio quotient(size_t k) const = 0;

  /// From now on forward() leaves predictions(). Takes memory. Called after prepare(). Returns the number of
  /// classes; 0: the layer compares no scores with labels.
  virtual int64_t note_classes(Context& context) {
    (void)context;
    return 0;
  }
  virtual PredictedClasses predictions() const { return {}; }

  /// Where y[0] lists judged detections, in the rows that layers/types/detection_evaluate.cc describes, the number of
  /// classes: its scores are average precisions over all rows of a test. Else 0.
  virtual int64_t detection_classes() const { return 0; }
};

/// What a layer is besides a Layer: each pointer is the layer itself, or null.
struct LayerRoles {
  bool needs_host = false;  ///< forward() waits for the host (data, files): no part of work that is recorded once
  bool views_x = false;     ///< every y is x[0] in another shape, or one more name of it
  DataCursor* cursor = nullptr;
  RecordSource* records = nullptr;  ///< then cursor, too
  BatchMemory* memory = nullptr;
  DynamicRows* rows = nullptr;
  Scoring* scoring = nullptr;
  ReadsClasses* classes = nullptr;
  WrittenInPython* python = nullptr;
};

}  // namespace cortado
