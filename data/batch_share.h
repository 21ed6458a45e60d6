#pragma once

#include <cstdint>

namespace cortado::data {

/// The batches of a training's common order that belong to one of several processes: of every `period` consecutive
/// ones, the `run` that start at number `first`. A single process has all of them.
struct BatchShare {
  int64_t first = 0, run = 1, period = 1;

  /// The number of this process's batch `own` in the common order.
  int64_t batch(int64_t own) const { return own / run * period + first + own % run; }
  /// The number of batches of the common order that are complete after `own` batches of this process. Exact between two
  /// periods.
  int64_t over(int64_t own) const { return own / run * period + own % run; }
};

/// A position in such a share, for sequential reading of batches of `batch` records.
class ShareCursor {
 public:
  explicit ShareCursor(BatchShare share, int64_t batch) : share_(share), batch_(batch) {}

  uint64_t place() const { return begin_ + uint64_t(share_.batch(own_) * batch_); }    ///< of the next batch
  uint64_t position() const { return begin_ + uint64_t(share_.over(own_) * batch_); }  ///< completed records
  /// Restarts the share at this position.
  void seek(uint64_t position) {
    begin_ = position;
    own_ = 0;
  }
  void advance() { ++own_; }
  void repeat() { --own_; }  ///< the latest batch will be read again

 private:
  BatchShare share_;
  int64_t batch_, own_ = 0;
  uint64_t begin_ = 0;
};

}  // namespace cortado::data
