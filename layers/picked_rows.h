#pragma once

// Rows selected by indices in a tensor: row i of y is row index[i] of another matrix. Backward sums, for each row, the
// gradients of all places that picked it, in order. So no two threads write to one place, and the result is
// bit-identical for any number of threads. An invalid index (negative, too large, NaN) picks nothing. For .cu files,
// like core/loops/for_each.h.

#include <utility>
#include <vector>

#include "core/device/device_memory.h"
#include "core/device/host_view.h"
#include "core/error.h"
#include "core/loops/for_each.h"
#include "core/text/text.h"

namespace cortado {

/// `picks` indices of `rows` rows; fractions are truncated, as in Caffe.
struct Picked {
  const float* indices;
  int64_t picks, rows;
  CORTADO_HD bool valid(int64_t i) const { return indices[i] > -1 && indices[i] < float(rows); }
  CORTADO_HD int64_t row(int64_t i) const { return valid(i) ? int64_t(indices[i]) : -1; }
};

/// Throws Error(kData) at the first invalid index. Reads the indices on the host; on devices only Layer::validate() may
/// call it.
inline void check_picked(const Picked& picked, const std::string& rows_of) {
  for (int64_t i = 0; i < picked.picks; ++i)
    if (!picked.valid(i))
      throw Error(ExitCode::kData,
                  "index " + to_text(picked.indices[i]) + " at place " + std::to_string(i) + " is not one of the " +
                      std::to_string(picked.rows) + " rows of " + rows_of,
                  "indices count from 0 to " + std::to_string(picked.rows - 1));
}

/// The same for indices in the memory of the context's device.
inline void validate_picked(Context& context, Picked picked, const std::string& rows_of) {
  const HostView values(context, picked.indices, picked.picks);
  picked.indices = values.data();
  check_picked(picked, rows_of);
}

/// A linked list per row: for each row the first place that picked it, for each place the next one that picked the same
/// row; -1: none.
struct PickedLists {
  int64_t *first, *next;  ///< one for each row, one for each place
};

inline int64_t picked_lists_bytes(int64_t picks, int64_t rows) {
  return checked_mul(picks + rows, int64_t(sizeof(int64_t)));
}

inline PickedLists picked_lists_in(void* scratch, int64_t rows) {
  int64_t* first = static_cast<int64_t*>(scratch);
  return {first, first + rows};
}

namespace {

struct ClearFirst {
  int64_t* first;
  CORTADO_HD void operator()(int64_t row) const { first[row] = -1; }
};

/// Only the first place that picked a row writes to first[row].
struct LinkPlaces {
  Picked picked;
  PickedLists lists;
  CORTADO_HD void operator()(int64_t i) const {
    const int64_t row = picked.row(i);
    lists.next[i] = -1;
    if (row < 0) return;
    int64_t earlier = i - 1, later = i + 1;
    while (earlier >= 0 && picked.row(earlier) != row) --earlier;
    while (later < picked.picks && picked.row(later) != row) ++later;
    if (earlier < 0) lists.first[row] = i;
    if (later < picked.picks) lists.next[i] = later;
  }
};

/// Fills the lists. On devices each place searches for its neighbours in parallel: quadratic work, but deterministic.
/// On the CPU each place is put in front of its row's list, the last one first.
inline void link_picked(Context& context, const Picked& picked, const PickedLists& lists) {
  for_each(context, picked.rows, ClearFirst{lists.first});
  if (context.shares_host_memory()) {
    for (int64_t i = picked.picks - 1; i >= 0; --i) {
      const int64_t row = picked.row(i);
      lists.next[i] = row < 0 ? -1 : std::exchange(lists.first[row], i);
    }
    return;
  }
  for_each(context, picked.picks, LinkPlaces{picked, lists});
}

}  // namespace

}  // namespace cortado
