#pragma once

#include <string>

#include "core/error.h"
#include "core/text/text.h"

namespace cortado {

/// The error of a bottom whose rows have a length that the layer cannot read. Nets declare inputs of such rows with
/// placeholders; the caller sets inputs of other shapes. So `check` only warns if an Input layer makes the bottom.
class UnfitRows : public FieldError {
 public:
  UnfitRows(size_t bottom, const std::string& message, const std::string& hint)
      : FieldError(entry("bottom", int64_t(bottom)), message, hint), bottom_(bottom) {}
  size_t bottom() const { return bottom_; }

 private:
  size_t bottom_;
};

}  // namespace cortado
