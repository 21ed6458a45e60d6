#pragma once

// Labels that name classes, as loss layers read them: whole numbers below the number of classes, one for each row of
// predictions. Functors ask valid(), and make the loss NaN where a label is none; the host finds the one to blame.

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
  bool whole = true;  ///< false: a fraction is cut off, as Accuracy does; else it names no class

  CORTADO_HD bool counts(int64_t row) const { return !(ignores && values[row] == ignored); }
  CORTADO_HD int64_t at(int64_t row) const { return int64_t(values[row]); }
  CORTADO_HD bool valid(int64_t row) const {
    const float v = values[row];
    return v >= 0 && v < float(classes) && (!whole || v == floorf(v));
  }
};

/// What a layer also is whose bottom[1] names classes.
class ReadsClasses {
 public:
  virtual ~ReadsClasses() = default;
  /// Which labels it takes, without values; nothing where bottom[1] holds something else. After infer().
  virtual std::optional<ClassLabels> class_labels() const = 0;
};

/// A label that is no class. Knows where it stands among the labels, so that the net, which knows the dataset, can name
/// the record; what() says "label 9 of item 3 is not one of the 4 classes".
class BadLabel : public Error {
 public:
  /// `row` of bottom[1], whose items have `inner` rows each. `advice` ends the hint.
  BadLabel(float label, int64_t row, int64_t inner, int64_t classes, const std::string& advice);
  int64_t row() const { return row_; }
  const std::string& verdict() const { return verdict_; }  ///< "label 9 is not one of the 4 classes"

 private:
  int64_t row_;
  std::string verdict_;
};

/// Throws FieldError for bottom[1] unless `labels` holds one for each of `rows` predictions in x.
void require_labels(const Shape& x, const Shape& labels, int64_t rows);

/// Throws FieldError unless x has samples (axis 0) and `targets` one number for each of its numbers.
void require_targets(const Shape& x, const Shape& targets);

/// Throws FieldError for bottom[1] unless `labels` has axis 0 for the `sequences` of bottom[0], which is x.
void require_sequence_labels(const Shape& x, int64_t sequences, const Shape& labels);

/// Throws BadLabel at the first of `values`, which may lie on a device, that counts and is no class. An item has
/// `inner` rows. `advice` ends the hint.
void validate_labels(Context& context, const Tensor& values, ClassLabels labels, int64_t inner = 1,
                     const char* advice = "");

}  // namespace cortado
