#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/context.h"
#include "core/shape.h"

// The optional interfaces of a layer, and how others find them.

namespace cortado::data {
class DataPipeline;
}

namespace cortado {

class ReadsClasses;
class WrittenInPython;

/// An optional interface of a layer: forward() leaves a state for later passes or outside the net, even without
/// backward. Then all batches of a test must go through this object, in order. A position in the data (DataCursor) and
/// draws by pass number do not count as a state.
class BatchMemory {
 public:
  virtual ~BatchMemory() = default;
  /// Whether this layer does, by its options. May be called before infer().
  virtual bool is_stateful() const { return true; }
  /// The values other than weights that forward() leaves for the next pass, in the context's memory; empty if none.
  /// Available after prepare(). Snapshots hold them.
  virtual std::span<float> carried() { return {}; }
};

/// An optional interface of data layers: a position in the data.
class DataCursor {
 public:
  virtual ~DataCursor() = default;
  virtual uint64_t position() const = 0;     ///< records that all processes have consumed since the training began
  virtual void seek(uint64_t position) = 0;  ///< forward() continues there
  virtual void repeat() = 0;                 ///< the next forward() makes the latest batch again
  virtual double wait_seconds() const { return 0; }  ///< time spent waiting for data so far
  /// Says `what` ("it contains nan") of the record that sample `item` of the latest batch was made from, for example
  /// "train.h5: row 3: it contains nan"; "" if that is unknown.
  virtual std::string about_record(int64_t item, const std::string& what) {
    (void)item, (void)what;
    return {};
  }
};

/// An optional interface of a layer whose number of rows depends on the values of a pass. infer() returns the upper
/// limit. graph/dynamic_rows_layer.h runs it, and all layers that read its tops, on the actual rows.
class DynamicRows {
 public:
  virtual ~DynamicRows() = default;
  /// False if its rows are always as many as infer() returned. Called after infer().
  virtual bool rows_vary() const { return true; }
  /// The shapes of y after forward(): the same axes, at most as many rows. forward() sets the rest of y to 0.
  virtual std::vector<Shape> current_shapes() const = 0;
};

/// An optional interface of data layers that read a set of known size in order; position() 0 is the first record.
class RecordSource : public DataCursor {
 public:
  virtual int64_t records() const = 0;  ///< of the set; 0 if it was not opened, or if records are drawn without end
  virtual const data::DataPipeline* pipeline() const = 0;  ///< what reads it; null if it was not opened
  /// Throws Error(kData): `what` of the record that sample `item` of the latest batch was made from. Returns if that is
  /// unknown.
  virtual void fail_record(int64_t item, const std::string& what, const std::string& hint) const = 0;
};

// An optional interface of layers that score predictions. It returns the ratios that y are, so that the scores of many
// batches add up to the score of all samples, and the predicted class of each row.

/// The two parts of y[k] of the latest forward(). `sums`, in the device's memory, are y[k].count() numerators, then as
/// many denominators. Null: all of y[k] was divided by `fixed`; 0: it is not a ratio whose parts add up.
struct Ratio {
  const float* sums = nullptr;
  double fixed = 0;
};

/// The classes of the rows of the latest forward(), in the device's memory: first the true class of each row (below 0
/// if the row is ignored or its label is not a class), then the class with the best score.
struct PredictedClasses {
  const float* classes = nullptr;  ///< 2 x rows; null: not a classification, or note_classes() was not called
  int64_t rows = 0;
};

class Scoring {
 public:
  virtual ~Scoring() = default;

  /// Only for layers prepared without backward.
  virtual Ratio quotient(size_t k) const = 0;

  /// Makes forward() fill predictions(). Allocates. Called after prepare(). Returns the number of classes; 0: the layer
  /// does not compare scores with labels.
  virtual int64_t note_classes(Context& context) {
    (void)context;
    return 0;
  }
  virtual PredictedClasses predictions() const { return {}; }

  /// The number of classes if y[0] lists judged detections, in the rows that layers/types/detection_evaluate.cc
  /// describes: its scores are average precisions over all rows of a test. Else 0.
  virtual int64_t detection_classes() const { return 0; }
};

/// The optional interfaces of a layer: each pointer is the layer itself, or null.
struct LayerRoles {
  bool needs_host = false;  ///< forward() waits for the host (data, files), so it cannot be part of a recorded graph
  bool views_x = false;     ///< every y is x[0] in another shape or under another name
  DataCursor* cursor = nullptr;
  RecordSource* records = nullptr;  ///< implies cursor
  BatchMemory* memory = nullptr;
  DynamicRows* rows = nullptr;
  Scoring* scoring = nullptr;
  ReadsClasses* classes = nullptr;
  WrittenInPython* python = nullptr;
};

}  // namespace cortado
