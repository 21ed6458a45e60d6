#pragma once

// A test among ranks: the first one runs it, the others wait, hear of every batch that it goes on, and at the end what
// follows from its scores.

#include <functional>

#include "solvers/evaluation.h"
#include "solvers/train_state.h"

namespace cortado {

class RankTest {
 public:
  /// References outlive this. Of a process alone every call does nothing.
  RankTest(TrainState& state, Evaluation& evaluation) : state_(state), evaluation_(evaluation) {}

  // Of the first rank: before each batch, and after the last one.
  void go_on();
  void end(bool stop);
  /// A snapshot is written within the test, in which all have a part.
  void begin_snapshot();

  /// Of the others: returns at the end whether to stop.
  bool follow(const std::function<void()>& snapshot);

 private:
  struct Word;
  void tell(Word& word);

  TrainState& state_;
  Evaluation& evaluation_;
};

}  // namespace cortado
