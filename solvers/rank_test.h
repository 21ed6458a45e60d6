#pragma once

// A test among ranks, which the first one leads: the others run the batches that are dealt out to them, or wait, hear
// before every batch that it goes on, and at the end what follows from its scores. Where batches are dealt out, number
// b of each test net is rank b % ranks', and scores are added up by the first one in the order of batches, so that they
// have the bits of one process alone.

#include <functional>

#include "solvers/evaluation.h"
#include "solvers/observer.h"
#include "solvers/tester.h"
#include "solvers/train_state.h"

namespace cortado {

/// Why the batches of this test net, built or not, have to come to one process one after the other: a layer that
/// remembers them (layers/roles.h); "" where they need not.
std::string why_not_dealt_out(const graph::Graph& test);

/// Collective, where tests are dealt out: all ranks get the first one's weights of layers that only test nets have, and
/// where its tests stand.
void share_tests(ranks::Engine& engine, SolverNets& nets, Evaluation& evaluation);

class RankTest : public TestRounds {
 public:
  /// References outlive this. Of a process alone every call does nothing. What a rank is asked for during a round that
  /// it has a part in is the first one's to obey: it comes to its `requests`.
  RankTest(TrainState& state, Evaluation& evaluation, Requests& requests)
      : state_(state), evaluation_(evaluation), requests_(requests) {}

  // Of the first rank: before each batch, where it tests alone, and after the last one.
  void go_on();
  void end(bool stop);
  /// A snapshot is written within the test, in which all have a part.
  void begin_snapshot();
  void begin(int net, const TestRound& round) override;
  std::vector<std::vector<double>> gather(std::span<const double> own) override;
  void end(int net, bool whole) override;

  /// Of the others: returns at the end whether to stop.
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
