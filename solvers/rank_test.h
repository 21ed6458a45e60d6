#pragma once

// A test among ranks, which the first rank leads. The other ranks run their share of the batches, or wait. Before every
// batch they receive the first rank's decision to continue, and at the end the consequences of the scores. If ranks
// share the batches, rank b % ranks runs batch b of each test net. The first rank adds the scores in the order of
// batches, so they have the same bits as in one process.

#include <functional>

#include "solvers/evaluation.h"
#include "solvers/observer.h"
#include "solvers/tester.h"
#include "solvers/train_state.h"

namespace cortado {

/// Why one process has to run all batches of this test net, built or not, in order: a layer keeps state from batch to
/// batch (layers/roles.h). "" if the ranks may share them.
std::string why_not_dealt_out(const graph::Graph& test);

/// Collective, if ranks share the batches of tests: sends the first rank's weights of layers that only test nets have,
/// and the state of its tests, to all ranks.
void share_tests(ranks::Engine& engine, SolverNets& nets, Evaluation& evaluation);

class RankTest : public TestRounds {
 public:
  /// The references must outlive this object. With a single process every call does nothing. Requests that another rank
  /// receives during its rounds are passed to the first rank's `requests`.
  RankTest(TrainState& state, Evaluation& evaluation, Requests& requests)
      : state_(state), evaluation_(evaluation), requests_(requests) {}

  // For the first rank: called before each batch, if it tests alone, and after the last one.
  void go_on();
  void end(bool stop);
  /// Starts a snapshot within the test, which is collective.
  void begin_snapshot();
  void begin(int net, const TestRound& round) override;
  std::vector<std::vector<double>> gather(std::span<const double> own) override;
  void end(int net, bool whole) override;

  /// For the other ranks: runs until the end of the test. Returns whether to stop the training.
  bool follow(const std::function<void()>& snapshot);

 private:
  struct Word;
  void tell(Word& word);
  void obey(const Word& word, const std::function<void()>& snapshot);
  void share_kept();
  std::vector<size_t> gather_sizes(size_t own);

  TrainState& state_;
  Evaluation& evaluation_;
  Requests& requests_;
};

}  // namespace cortado
