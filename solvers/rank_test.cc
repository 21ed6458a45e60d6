#include "solvers/rank_test.h"

namespace cortado {

/// What the first rank says: that the test goes on, or what came of it.
struct RankTest::Word {
  int64_t is_over = 0, snapshot = 0, stop = 0, stops_early = 0;
  int64_t current_step = 0, last_event = 0;
  double least = 0;  ///< of lr_policy plateau
};

void RankTest::tell(Word& word) {
  if (state_.share.engine) state_.share.engine->broadcast(reinterpret_cast<std::byte*>(&word), sizeof word, 0);
}

void RankTest::go_on() {
  Word word;
  tell(word);
}

void RankTest::end(bool stop) {
  LearningRate& rate = state_.schedule.rate();
  Word word{.is_over = 1, .stop = stop, .stops_early = evaluation_.stops_early(), .current_step = rate.current_step()};
  if (rate.is_plateau()) {
    word.last_event = rate.plateau().last_event();
    word.least = rate.plateau().least();
  }
  tell(word);
}

void RankTest::begin_snapshot() {
  Word word{.snapshot = 1};
  tell(word);
}

bool RankTest::follow(const std::function<void()>& snapshot) {
  Word word;
  for (tell(word); !word.is_over; tell(word))
    if (word.snapshot) snapshot();
  LearningRate& rate = state_.schedule.rate();
  rate.set_current_step(int(word.current_step));
  if (rate.is_plateau()) rate.plateau().restore(word.least, word.last_event);
  evaluation_.set_stops_early(word.stops_early != 0);
  return word.stop != 0;
}

}  // namespace cortado
