#pragma once

#include <cstdint>

namespace cortado::data {

/// Which batches of a training's common order one of several processes takes: of every `period` in succession the `run`
/// that begin with number `first`. One process alone takes all of them.
struct BatchShare {
  int64_t first = 0, run = 1, period = 1;

  /// Where this process's batch number `own` stands in the common order.
  int64_t batch(int64_t own) const { return own / run * period + first + own % run; }
  /// How many batches of the common order are over when this process has had `own`. Exact between two periods.
  int64_t over(int64_t own) const { return own / run * period + own % run; }
};

/// A place in such a share, for who reads batch after batch of `batch` records.
class ShareCursor {
 public:
  explicit ShareCursor(BatchShare share, int64_t batch) : share_(share), batch_(batch) {}

  uint64_t place() const { return begin_ + uint64_t(share_.batch(own_) * batch_); }    ///< of the next batch
  uint64_t position() const { return begin_ + uint64_t(share_.over(own_) * batch_); }  ///< records that are over
  /// The share begins anew at this position.
  void seek(uint64_t position) {
    begin_ = position;
    own_ = 0;
  }
  void advance() { ++own_; }
  void repeat() { --own_; }  ///< the next batch is the latest one again

 private:
  BatchShare share_;
  int64_t batch_, own_ = 0;
  uint64_t begin_ = 0;
};

}  // namespace cortado::data
