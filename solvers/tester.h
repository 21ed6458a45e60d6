#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "net/net.h"
#include "solvers/scores.h"

namespace cortado {

/// Which of a test's batches are one rank's: of every `ranks` in succession number `rank`.
struct TestShare {
  int rank = 0, ranks = 1;
};

/// Batches of a test that its ranks run between two meetings: `each` of every rank, from number `first` on, as far as
/// there are so many.
struct TestRound {
  int64_t first = 0, each = 1;
};

/// How the first rank leads others through a test that is dealt out, round after round.
class TestRounds {
 public:
  virtual ~TestRounds() = default;
  /// Now all run their batches of this round.
  virtual void begin(int net, const TestRound& round) = 0;
  /// What each rank's batches scored, those of the first one being `own`; for who is not the first nothing.
  virtual std::vector<std::vector<double>> gather(std::span<const double> own) = 0;
  virtual void end(int net, bool whole) = 0;
};

/// Runs one test net over its batches. Draws of its passes never meet those of training or of another test net.
///
/// By batches, as in Caffe: scores are plain means over batches, and the data continues where the last test stopped. By
/// epoch: each test begins at the first record and takes each record once. The rest that fills no batch runs in a net
/// of its own, with the same weights and so small a batch, and scores are those of the set: quotients of sums over it
/// where layers tell them (ScoreSums), else means in which every batch counts by its samples.
///
/// Dealt out: several ranks have a tester of the same net, whose data was built for that rank's share of the batches.
/// The first one's run() leads, the others are told what to do by begin(), run_own() and end().
class Tester {
 public:
  Tester(Net& net, int index, int batches, ApVersion version = ApVersion::kIntegral, TestShare share = {});
  /// `tail`: the net for the last records % batch, null where nothing is left. Throws FieldError about test_epoch where
  /// an output has not one score for the set but values for each sample.
  Tester(Net& net, Net* tail, int index, int64_t records, ApVersion version = ApVersion::kIntegral,
         TestShare share = {});

  /// Calls go_on before each batch, or round, with the number of batches done; where that returns false, so does this,
  /// at once. `rounds` leads the other ranks, where there are some; such a test that is not whole goes back to where it
  /// began.
  bool run(const std::function<bool(int done)>& go_on, TestRounds* rounds = nullptr);

  void begin();
  /// Runs this rank's batches of a round and gives what they scored, for TestRounds.
  std::span<const double> run_own(const TestRound& round);
  void end(bool whole);

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
  int index_, batches_;  ///< of net_
  int64_t records_ = 0;  ///< of a test by epoch
  TestShare share_;
  uint64_t passes_ = 0;
  std::vector<std::pair<std::string, uint64_t>> began_;  ///< where data stood
  std::vector<double> words_;
  int64_t pace_ = 1;  ///< batches of each rank in a round
  OutputReader outputs_;
  std::unique_ptr<OutputReader> tail_outputs_;
  ScoreSums sums_;
  std::vector<Score> scores_, exact_;
  double loss_ = 0;
  bool said_what_differs_ = false;
};

}  // namespace cortado
