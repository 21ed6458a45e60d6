#pragma once

// Class labels of loss layers: integers below the number of classes, one for each row of predictions. Functors check
// valid(), and make the loss NaN for an invalid label; the host finds the label to report.

#include <cmath>
#include <optional>
#include <string>

#include "core/context.h"
#include "core/error.h"
#include "core/host_device.h"
#include "core/tensor.h"

namespace cortado {

struct ClassLabels {
  const float* values;
  int64_t classes;
  bool ignores = false;
  float ignored = 0;
  bool whole = true;  ///< false: fractions are truncated, as in Accuracy; true: a fraction is an invalid label

  CORTADO_HD bool counts(int64_t row) const { return !(ignores && values[row] == ignored); }
  CORTADO_HD int64_t at(int64_t row) const { return int64_t(values[row]); }
  CORTADO_HD bool valid(int64_t row) const {
    const float v = values[row];
    return v >= 0 && v < float(classes) && (!whole || v == floorf(v));
  }
};

/// An optional interface of layers whose bottom[1] holds classes.
class ReadsClasses {
 public:
  virtual ~ReadsClasses() = default;
  /// The labels that it accepts, without values; none if bottom[1] holds something else. Called after infer().
  virtual std::optional<ClassLabels> class_labels() const = 0;
};

/// A label that is not a class. Knows its position among the labels, so that the net, which knows the dataset, can name
/// the record. what() is "label 9 of item 3 is not one of the 4 classes".
class BadLabel : public Error {
 public:
  /// `row` of bottom[1], whose items have `inner` rows each. `advice` is appended to the hint.
  BadLabel(float label, int64_t row, int64_t inner, int64_t classes, const std::string& advice);
  int64_t row() const { return row_; }
  const std::string& verdict() const { return verdict_; }  ///< "label 9 is not one of the 4 classes"

 private:
  int64_t row_;
  std::string verdict_;
};

/// Throws FieldError for bottom[1] unless `labels` has one for each of `rows` predictions in x.
void require_labels(const Shape& x, const Shape& labels, int64_t rows);

/// Throws FieldError unless x has samples (axis 0) and `targets` one number for each number of x.
void require_targets(const Shape& x, const Shape& targets);

/// Throws FieldError for bottom[1] unless axis 0 of `labels` matches the `sequences` of bottom[0], which is x.
void require_sequence_labels(const Shape& x, int64_t sequences, const Shape& labels);

/// Throws BadLabel at the first of `values`, which may be on a device, that is neither ignored nor a class. An item has
/// `inner` rows. `advice` is appended to the hint.
void validate_labels(Context& context, const Tensor& values, ClassLabels labels, int64_t inner = 1,
                     const char* advice = "");

}  // namespace cortado
