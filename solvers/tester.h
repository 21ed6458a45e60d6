#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "net/net.h"
#include "solvers/scores.h"

namespace cortado {

/// The batches of a test that one rank runs: batch `rank` of every group of `ranks` consecutive ones.
struct TestShare {
  int rank = 0, ranks = 1;
};

/// One round of a test: every rank runs `each` batches, starting at batch `first`; the last round may have fewer.
struct TestRound {
  int64_t first = 0, each = 1;
};

/// The first rank's interface to the other ranks during a test whose batches are shared, round by round.
class TestRounds {
 public:
  virtual ~TestRounds() = default;
  /// Starts a round on all ranks.
  virtual void begin(int net, const TestRound& round) = 0;
  /// Collects the scores of each rank's batches; `own` are those of this rank. Returns nothing on the other ranks.
  virtual std::vector<std::vector<double>> gather(std::span<const double> own) = 0;
  virtual void end(int net, bool whole) = 0;
};

/// Runs one test net over its batches. The random draws of its passes differ from those of training and of other test
/// nets.
///
/// By batches, as in Caffe: scores are plain means over batches, and the data continue after the last test. By epoch:
/// each test reads each record once, from the first one on. The last records, if they do not fill a batch, run in a net
/// of their own with the same weights and a smaller batch. Scores are those of the whole set: a sum of numerators
/// divided by a sum of denominators, if layers report these (ScoreSums). Otherwise they are means that weight every
/// batch by its number of samples.
///
/// With shared batches several ranks have a tester of the same net, whose data layers read that rank's share. The first
/// rank's run() leads; the others receive calls of begin(), run_own() and end().
class Tester {
 public:
  Tester(Net& net, int index, int batches, ApVersion version = ApVersion::kIntegral, TestShare share = {});
  /// `tail`: the net for the last records % batch, null if there are none. Throws FieldError about test_epoch if an
  /// output has one value for each sample instead of one score.
  Tester(Net& net, Net* tail, int index, int64_t records, ApVersion version = ApVersion::kIntegral,
         TestShare share = {});

  /// Calls go_on with the number of completed batches before each batch or round, and returns false at once if it does.
  /// `rounds` leads the other ranks, if there are any; an interrupted test with rounds restores the state before it.
  bool run(const std::function<bool(int done)>& go_on, TestRounds* rounds = nullptr);

  void begin();
  /// Runs this rank's batches of a round and returns their scores, for TestRounds.
  std::span<const double> run_own(const TestRound& round);
  void end(bool whole);

  const std::vector<Score>& scores() const { return scores_; }                          ///< of the last complete run
  double loss() const { return loss_; }                                                 ///< of the last complete run
  const std::vector<DetectionScore>& detections() const { return sums_.detections(); }  ///< of the last run
  const std::vector<Score>& exact() const { return exact_; }  ///< over all samples of the last run's batches
  /// Logs, once only, that scores of the last run differ from those over all its samples.
  void report_differences_once();
  int batches() const { return batches_ + (tail_ ? 1 : 0); }
  Net& net() { return net_; }
  uint64_t passes() const { return passes_; }
  void set_passes(uint64_t passes) { passes_ = passes; }

 private:
  void rewind();
  bool run_alone(const std::function<bool(int done)>& go_on);
  bool run_rounds(const std::function<bool(int done)>& go_on, TestRounds& rounds);
  double run_batch(int batch);
  void add_batch(int batch, double loss);
  int add_round(const TestRound& round, const std::vector<std::vector<double>>& words);
  void choose_pace(double seconds, size_t words);
  void move_data(bool whole);
  bool is_tail(int batch) const { return batch == batches_; }
  OutputReader& outputs_of(int batch) { return is_tail(batch) ? *tail_outputs_ : outputs_; }
  void take_scores();

  Net& net_;
  Net* tail_ = nullptr;
  int index_, batches_;  ///< `batches_`: of net_
  int64_t records_ = 0;  ///< if the test is by epoch
  TestShare share_;
  uint64_t passes_ = 0;
  std::vector<std::pair<std::string, uint64_t>> began_;  ///< positions of the data before the test
  std::vector<double> words_;
  int64_t pace_ = 1;  ///< batches of each rank per round
  OutputReader outputs_;
  std::unique_ptr<OutputReader> tail_outputs_;
  ScoreSums sums_;
  std::vector<Score> scores_, exact_;
  double loss_ = 0;
  bool said_what_differs_ = false;
};

}  // namespace cortado
