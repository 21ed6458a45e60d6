#include <gtest/gtest.h>

#include <cmath>

#include "proto/files/read_text.h"
#include "tools/tuner/rate_finding.h"
#include "tools/tuner/trial.h"

namespace cortado::tools::testing {

namespace {

/// A loss that falls from 2 to 0.5 around `middle` and diverges above `edge`.
RateSweep made_sweep(double middle, double edge) {
  RateSweep sweep;
  for (int i = 0; i < 200; ++i) {
    const double rate = 1e-6 * std::pow(10, 7.0 * i / 199);
    const double fall = 1.5 / (1 + std::exp(-3 * std::log(rate / middle)));
    sweep.rates.push_back(rate);
    sweep.losses.push_back(2 - fall + (rate > edge ? 40 * (rate / edge - 1) : 0) + 0.02 * std::sin(i * 1.7));
  }
  return sweep;
}

TEST(FindRate, FindsTheSteepestFall) {
  const RateFinding found = find_rate(made_sweep(0.003, 0.8));
  EXPECT_GT(found.steepest, 0.0015);
  EXPECT_LT(found.steepest, 0.015);  // smoothing delays it by some iterations
  EXPECT_GT(found.least, found.steepest);
  EXPECT_GE(found.diverged, 0.8);
  EXPECT_LE(found.suggested, found.least / 4 + 1e-12);
  EXPECT_NEAR(found.first_loss, 2, 0.05);
}

TEST(FindRate, SuggestsNoRateIfNothingIsLearned) {
  RateSweep sweep = made_sweep(0.003, 0.8);
  for (double& loss : sweep.losses) loss = 2.3;
  EXPECT_EQ(find_rate(sweep).suggested, 0);
  EXPECT_EQ(find_rate({}).suggested, 0);
  EXPECT_EQ(find_rate({{1e-3}, {INFINITY}, true}).suggested, 0);
}

TEST(FindRate, IgnoresNoiseBeforeTheFall) {
  RateSweep sweep = made_sweep(0.003, 0.8);
  sweep.losses[0] += 3;  // the smoothed loss falls steeply after it
  sweep.losses[4] += 1;
  const RateFinding found = find_rate(sweep);
  EXPECT_GT(found.steepest, 0.0015);
  EXPECT_LT(found.steepest, 0.015);
}

TEST(FindRate, StopsAtANanLoss) {
  RateSweep sweep = made_sweep(0.003, 1e9);
  sweep.losses[160] = NAN;
  const RateFinding found = find_rate(sweep);
  EXPECT_EQ(found.diverged, sweep.rates[160]);
  EXPECT_LT(found.least, sweep.rates[160]);
}

std::string tuned(const std::string& text) {
  return with_base_lr(text, read_solver_from_text(text, "s").positions, 0.0125, "# measured\n");
}

TEST(TunedSolver, KeepsTheTextOfTheFile) {
  EXPECT_EQ(tuned("# mine\nnet: 'n' base_lr: 0.1  # fast\nmomentum: 0.9"),
            "# measured\n# mine\nnet: 'n' base_lr: 0.0125  # fast\nmomentum: 0.9");
  EXPECT_EQ(tuned("base_lr:1e-2"), "# measured\nbase_lr:0.0125");
  EXPECT_EQ(tuned("net: 'n'"), "# measured\nnet: 'n'\nbase_lr: 0.0125\n");
}

TEST(Trials, RemoveOptionsOfWholeTrainings) {
  const SolverFile file = read_solver_from_text(
      "net: 'n' base_lr: 1 test_iter: 3 test_interval: 9 snapshot: 5 warmup_iter: 7 lr_policy: 'multistep' stepvalue: "
      "3 "
      "keep_best: 'accuracy' shards: 4 iter_size: 2 max_epoch: 3 momentum: 0.8",
      "s");
  const caffe::SolverParameter trial = for_trials(file).solver;
  EXPECT_EQ(trial.test_iter_size() + trial.test_interval() + trial.snapshot() + trial.warmup_iter(), 0);
  EXPECT_FALSE(trial.has_keep_best() || trial.has_max_epoch() || trial.snapshot_after_train());
  EXPECT_EQ(trial.iter_size(), 8) << "the number of images per update stays";
  EXPECT_FLOAT_EQ(trial.momentum(), 0.8F);
}

}  // namespace

}  // namespace cortado::tools::testing
