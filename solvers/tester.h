#pragma once

#include <functional>
#include <vector>

#include "net/net.h"
#include "solvers/scores.h"

namespace cortado {

/// Runs one test net over its batches. Scores are plain means over batches; the data goes on where the last test
/// stopped, as in Caffe. Draws of its passes never meet those of training or of another test net.
class Tester {
 public:
  Tester(Net& net, int index, int batches);

  /// Asks before each batch whether to go on, with the number of batches done. Returns false when it was told not to.
  bool run(const std::function<bool(int done)>& go_on);

  const std::vector<Score>& scores() const { return means_; }  ///< of the last whole run
  double loss() const { return loss_; }                        ///< mean over batches
  int batches() const { return batches_; }
  Net& net() { return net_; }
  uint64_t passes() const { return passes_; }
  void set_passes(uint64_t passes) { passes_ = passes; }

 private:
  Net& net_;
  int index_, batches_;
  uint64_t passes_ = 0;
  OutputReader outputs_;
  std::vector<Score> means_;
  double loss_ = 0;
};

}  // namespace cortado
