#pragma once

#include <cstdint>

namespace cortado::importing {

/// The batch, which a model is read with a large prime in the place of. The model's own number, 1 mostly, may be the
/// extent of any axis; the prime is a factor of those extents alone that grow with the batch.
struct Batch {
  int64_t mark = 0;   ///< the prime; 0: the model is read for its own batch alone
  int64_t own = 1;    ///< the model's number, 1 where it leaves the batch open and none was given
  bool open = false;  ///< the model leaves it open

  /// Whether an extent grows with the batch.
  bool in(int64_t extent) const { return mark > 0 && extent > 0 && extent % mark == 0; }
};

}  // namespace cortado::importing
