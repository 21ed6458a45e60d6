#pragma once

#include <functional>
#include <vector>

#include "net/net.h"
#include "solvers/scores.h"

namespace cortado {

/// Runs one test net over its batches. Draws of its passes never meet those of training or of another test net.
///
/// By batches, as in Caffe: scores are plain means over batches, and the data continues where the last test stopped. By
/// epoch: each test begins at the first record and takes each record once. The rest that fills no batch runs in a net
/// of its own, with the same weights and so small a batch, and scores are those of the set: quotients of sums over it
/// where layers tell them (ScoreSums), else means in which every batch counts by its samples.
class Tester {
 public:
  Tester(Net& net, int index, int batches, ApVersion version = ApVersion::kIntegral);
  /// `tail`: the net for the last records % batch, null where nothing is left. Throws FieldError about test_epoch where
  /// an output has not one score for the set but values for each sample.
  Tester(Net& net, Net* tail, int index, int64_t records, ApVersion version = ApVersion::kIntegral);

  /// Calls go_on before each batch, with the number of batches done; where that returns false, so does this, at once.
  bool run(const std::function<bool(int done)>& go_on);

  const std::vector<Score>& scores() const { return scores_; }                          ///< of the last whole run
  double loss() const { return loss_; }                                                 ///< the same of the loss
  const std::vector<DetectionScore>& detections() const { return sums_.detections(); }  ///< of the last run
  const std::vector<Score>& exact() const { return exact_; }  ///< of all samples of the last run's batches
  /// One log line, the first time that scores of the last run are not those of all its samples.
  void say_once_what_differs();
  int batches() const { return batches_ + (tail_ ? 1 : 0); }
  Net& net() { return net_; }
  uint64_t passes() const { return passes_; }
  void set_passes(uint64_t passes) { passes_ = passes; }

 private:
  void rewind();
  void run_batch(Net& net, OutputReader& outputs);
  void take_scores();

  Net& net_;
  Net* tail_ = nullptr;
  int index_, batches_;  ///< of net_
  int64_t records_ = 0;  ///< of a test by epoch
  uint64_t passes_ = 0;
  OutputReader outputs_;
  std::unique_ptr<OutputReader> tail_outputs_;
  ScoreSums sums_;
  std::vector<Score> scores_, exact_;
  double loss_ = 0;
  bool said_what_differs_ = false;
};

}  // namespace cortado
