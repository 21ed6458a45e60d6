#pragma once

#include <cstdint>

namespace cortado::importing {

/// The batch size. A model is read with a large prime in its place: the model's own batch size, mostly 1, may also be
/// the extent of other axes, but only extents that grow with the batch have the prime as a factor.
struct Batch {
  int64_t mark = 0;   ///< the prime; 0: the model is read for its own batch size only
  int64_t own = 1;    ///< the model's batch size; 1 if it is open and not given
  bool open = false;  ///< the model does not fix it

  /// Whether an extent grows with the batch.
  bool in(int64_t extent) const { return mark > 0 && extent > 0 && extent % mark == 0; }
};

}  // namespace cortado::importing
