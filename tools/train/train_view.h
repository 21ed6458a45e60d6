#pragma once

// The view of a training on a terminal: a progress line that is rewritten, and a permanent line for each test and
// snapshot. Without a terminal, only log lines are written. In both cases a hint is given once if training waits for
// data.

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "solvers/observer.h"
#include "tools/output/sparkline.h"
#include "tools/output/terminal.h"

namespace cortado::tools {

class TrainView : public TrainObserver {
 public:
  /// `window`: the solver's average_loss.
  explicit TrainView(int window) : window_(window) {}

  void on_start(const Progress& progress, const std::vector<TestScore>&) override;
  void on_resume(const Progress& progress, const std::string& state_path) override;
  void on_iteration(const Progress& progress) override;
  void on_display(const Progress& progress, const std::vector<Score>& outputs) override;
  void on_test_batch(const Progress& progress, int net, int done, int of) override;
  void on_test(const Progress& progress, int net, const std::vector<Score>& scores,
               const std::vector<BestTestScore>& best) override;
  void on_snapshot(const Progress& progress, const std::string& state_path) override;
  void on_end(const Progress& progress, Outcome outcome) override;

 private:
  void say(const std::string& text);
  std::vector<ProgressField> fields(const Progress& progress);
  void update_speed(const Progress& progress);

  int window_;
  ProgressLine line_;
  std::chrono::steady_clock::time_point start_;
  std::vector<std::string> best_;
  std::set<std::string> without_best_;  ///< outputs of several elements, whose best value is not shown
  double images_per_second_ = 0;
  int64_t window_iter_ = 0;  ///< first iteration of the window of update_speed()
  double window_seconds_ = 0;
  bool warned_of_waiting_ = false;
  bool draws_ = utf8_locale();  ///< whether to draw sparklines
  Stretches losses_;
  std::vector<double> scores_;  ///< of the first test net's first score that is not a loss
};

}  // namespace cortado::tools
