#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "core/error.h"
#include "solvers/schedule.h"

namespace cortado {
namespace {

caffe::SolverParameter config_of(const std::string& policy) {
  caffe::SolverParameter config;
  config.set_lr_policy(policy);
  config.set_base_lr(0.02f);
  config.set_gamma(0.9f);
  config.set_power(0.75f);
  config.set_stepsize(7);
  config.set_max_iter(40);
  for (int value : {5, 9, 30}) config.add_stepvalue(value);
  if (policy == "plateau")
    for (int value : {4, 6}) config.add_plateau_winsize(value);
  for (const auto& [rate, end] : {std::pair{0.1f, 3}, std::pair{0.05f, 10}, std::pair{0.2f, 20}}) {
    config.add_stagelr(rate);
    config.add_stageiter(end);
  }
  return config;
}

TEST(LearningRate, FollowsItsFormula) {
  const double base = 0.02f, gamma = 0.9f;
  const auto bend = [](double from, double to, double share) {
    return to + (from - to) / 2 * (1 + std::cos(M_PI * share));
  };
  const auto passed = [](int i) { return (i >= 5) + (i >= 9) + (i >= 30); };
  const std::map<std::string, std::function<double(int)>> expected = {
      {"fixed", [&](int) { return base; }},
      {"step", [&](int i) { return base * std::pow(gamma, i / 7); }},
      {"exp", [&](int i) { return base * std::pow(gamma, i); }},
      {"inv", [&](int i) { return base * std::pow(1 + gamma * i, -0.75); }},
      {"multistep", [&](int i) { return base * std::pow(gamma, passed(i)); }},
      {"poly", [&](int i) { return base * std::pow(1 - i / 40.0, 0.75); }},
      {"sigmoid", [&](int i) { return base / (1 + std::exp(-gamma * (i - 7))); }},
      {"plateau", [&](int i) { return base * std::pow(gamma, (i >= 4) + (i >= 10)); }},  // a loss that never falls
      {"multifixed", [&](int i) { return double(i <= 3    ? 0.1f
                                                : i <= 10 ? 0.05f
                                                          : 0.2f); }},
      {"cosine", [&](int i) { return base / 2 * (1 + std::cos(M_PI * i / 40)); }},
      // 30 % of 40 iterations are rise: 0 to 11; the others fall to 39.
      {"onecycle",
       [&](int i) { return i <= 11 ? bend(base / 25, base, i / 11.0) : bend(base, base / 250000, (i - 11) / 28.0); }},
  };
  ASSERT_EQ(all_lr_policies().size(), expected.size());
  for (const std::string& policy : all_lr_policies()) {
    const caffe::SolverParameter config = config_of(policy);
    LearningRate rate(config);
    for (int i = 0; i < 40; ++i)
      EXPECT_NEAR(rate.next(i, 5), expected.at(policy)(i), 2e-7 * (0.2 + base)) << policy << " at " << i;
  }
}

TEST(LearningRate, MultistepPassesOneValueAnIteration) {
  caffe::SolverParameter config = config_of("multistep");
  config.set_stepvalue(1, 5);
  LearningRate rate(config);
  EXPECT_FLOAT_EQ(rate.next(5), 0.02f * 0.9f);
  EXPECT_EQ(rate.current_step(), 1);
  EXPECT_FLOAT_EQ(rate.next(6), 0.02f * 0.81f);
  LearningRate resumed(config);
  resumed.set_current_step(2);
  EXPECT_EQ(resumed.next(7), rate.next(7));
  resumed.set_current_step(-3);
  EXPECT_EQ(resumed.current_step(), 0) << "snapshots of other programs are not checked";
}

TEST(LearningRate, PolyEndsAtZero) {
  const caffe::SolverParameter config = config_of("poly");
  LearningRate rate(config);
  EXPECT_EQ(rate.next(40), 0);
  EXPECT_EQ(rate.next(41), 0);
}

TEST(LearningRate, CosineRestarts) {
  caffe::SolverParameter config = config_of("cosine");
  config.set_min_lr(0.002f);
  config.set_cosine_cycle(4);
  config.set_cosine_cycle_mult(2);  // begins at 0, 4, 12, 28
  const double base = 0.02f, least = 0.002f;
  for (int i = 0; i < 60; ++i) {
    const int begin = i < 4 ? 0 : i < 12 ? 4 : i < 28 ? 12 : 28, length = i < 4 ? 4 : i < 12 ? 8 : i < 28 ? 16 : 32;
    LearningRate rate(config);
    EXPECT_NEAR(rate.next(i), least + (base - least) / 2 * (1 + std::cos(M_PI * (i - begin) / length)), 1e-9) << i;
  }
  config.set_cosine_cycle_mult(1);
  LearningRate equal(config);
  for (int i = 0; i < 20; ++i)
    EXPECT_NEAR(equal.next(i), least + (base - least) / 2 * (1 + std::cos(M_PI * (i % 4) / 4)), 1e-9);
  config.set_cosine_cycle(1);
  config.set_cosine_cycle_mult(std::nextafter(1.0f, 2.0f));
  LearningRate many(config);
  EXPECT_GE(many.next(2000000000), config.min_lr()) << "and does not count two thousand million cycles";
}

TEST(LearningRate, WarmsUp) {
  caffe::SolverParameter config = config_of("fixed");
  config.set_warmup_iter(8);
  config.set_warmup_start_lr(0.004f);
  const double base = 0.02f, first = 0.004f;
  const auto at = [&](int i) { return LearningRate(config).next(i); };
  for (int i = 0; i < 8; ++i) EXPECT_NEAR(at(i), (i * base + (8 - i) * first) / 8, 1e-9) << i;  // Intel's words
  EXPECT_EQ(at(8), 0.02f);
  config.set_warmup_policy("poly");
  config.set_warmup_power(3);
  EXPECT_NEAR(at(4), first + (base - first) / 8, 1e-9);
  config = config_of("fixed");
  config.set_rampup_interval(10);
  config.set_rampup_lr(0.01f);
  EXPECT_NEAR(at(5), 0.01 + 0.01 / 4, 1e-9);
  EXPECT_EQ(at(10), 0.02f);
}

TEST(LearningRate, PoliciesGoOnBehindTheWarmUp) {
  caffe::SolverParameter config = config_of("multistep");
  config.set_warmup_iter(10);
  LearningRate rate(config);
  for (int i = 0; i < 10; ++i) EXPECT_FLOAT_EQ(rate.next(i), 0.002f * float(i));
  EXPECT_FLOAT_EQ(rate.next(10), 0.02f * 0.9f);  // one stepvalue at a time
  EXPECT_FLOAT_EQ(rate.next(11), 0.02f * 0.81f);
  config.set_lr_policy("cosine");
  LearningRate cosine(config);
  EXPECT_FLOAT_EQ(cosine.next(10), 0.02f);
  EXPECT_FLOAT_EQ(cosine.next(25), 0.01f);
}

TEST(LearningRate, NeverFallsBelowItsFloor) {
  for (const std::string& policy : all_lr_policies()) {
    caffe::SolverParameter config = config_of(policy);
    config.set_min_lr(0.015f);
    config.set_warmup_iter(policy == "onecycle" ? 0 : 3);
    LearningRate rate(config);
    for (int i = 0; i < 45; ++i) EXPECT_GE(rate.next(i, 1), 0.015f) << policy << " at " << i;
  }
  caffe::SolverParameter config = config_of("poly");
  config.set_min_lr(0.01f);
  EXPECT_NEAR(LearningRate(config).next(10), 0.01 + 0.01 * std::pow(0.75, 0.75), 1e-9);
}

TEST(LearningRate, PlateauDropsAfterAWindowWithoutGain) {
  caffe::SolverParameter config = config_of("plateau");
  config.set_plateau_min_delta(0.5f);
  LearningRate rate(config);
  const double losses[] = {9, 8, 8.2, 7.6, 7.6, 7.4, 7.0, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7};
  std::vector<int> drops;
  for (int i = 0; i < 19; ++i) {
    const int before = rate.current_step();
    rate.next(i, losses[i]);
    if (rate.current_step() != before) drops.push_back(i);
  }
  EXPECT_EQ(drops, (std::vector<int>{9, 15})) << "gains at 0, 1, 5; the second window begins at the first drop";
  EXPECT_EQ(rate.plateau().least(), 7.4f);
}

TEST(LearningRate, PlateauLooksAtAScore) {
  caffe::SolverParameter config = config_of("plateau");
  config.set_plateau_metric("accuracy");
  LearningRate rate(config);
  EXPECT_FALSE(rate.wants_loss());
  rate.see_score(-0.5, 0);
  for (int i = 0; i < 3; ++i) rate.next(i, 1.0 / (i + 1));
  rate.see_score(-0.6, 3);
  for (int i = 3; i < 7; ++i) rate.next(i, 1.0 / (i + 1));
  EXPECT_EQ(rate.current_step(), 0);
  rate.next(7);
  EXPECT_EQ(rate.current_step(), 1);
}

TEST(Schedule, MomentumAndDecayFollowNvidiasPolicies) {
  caffe::SolverParameter config = config_of("fixed");
  config.set_momentum(0.5f);
  config.set_weight_decay(0.1f);
  EXPECT_EQ(Schedule(config).next(7).momentum, 0.5f);
  EXPECT_EQ(Schedule(config).next(7).weight_decay, 0.1f);
  config.set_momentum_policy("poly");
  config.set_max_momentum(0.9f);
  config.set_momentum_power(2);
  EXPECT_NEAR(Schedule(config).next(20).momentum, 0.5 + 0.4 / 4, 1e-7);
  config.set_weight_decay_policy("poly");
  EXPECT_NEAR(Schedule(config).next(20).weight_decay, 0.05, 1e-8);
  config.set_max_weight_decay(0.3f);
  EXPECT_NEAR(Schedule(config).next(10).weight_decay, 0.1 + 0.2 / 4, 1e-8);
  config.set_momentum_policy("opt");
  config.set_base_lr(0.16f);
  EXPECT_NEAR(Schedule(config).next(3).momentum, 0.64, 1e-7);
  config.set_base_lr(0.0001f);
  EXPECT_EQ(Schedule(config).next(3).momentum, 0.9f);
}

FieldError fault(const caffe::SolverParameter& config) {
  try {
    Schedule rates(config);
  } catch (const FieldError& error) {
    return error;
  }
  return FieldError("none", "");
}

TEST(LearningRate, RefusesWhatItCannotUse) {
  caffe::SolverParameter config = config_of("Step");
  EXPECT_EQ(fault(config).field(), "lr_policy");
  EXPECT_NE(fault(config).hint().find("'step'"), std::string::npos);
  config = config_of("");
  EXPECT_EQ(fault(config).field(), "lr_policy");
  config = config_of("step");
  config.set_stepsize(0);
  EXPECT_EQ(fault(config).field(), "stepsize");
  config.clear_stepsize();
  EXPECT_EQ(fault(config).field(), "lr_policy") << "which the file has";
  EXPECT_EQ(fault(config).message(), "lr_policy \"step\" needs stepsize");
  config = config_of("exp");
  config.clear_gamma();
  EXPECT_EQ(fault(config).message(), "lr_policy \"exp\" needs gamma");
  config = config_of("multistep");
  config.set_stepvalue(2, 6);
  EXPECT_EQ(fault(config).field(), "stepvalue[2]");
  config = config_of("poly");
  config.clear_max_iter();
  EXPECT_EQ(fault(config).field(), "lr_policy");
}

struct Fault {
  const char* policy;
  std::function<void(caffe::SolverParameter&)> spoil;
  const char* field;
};

TEST(Schedule, RefusesWhatItCannotUse) {
  const Fault faults[] = {
      {"plateau", [](auto& c) { c.clear_plateau_winsize(); }, "lr_policy"},
      {"plateau", [](auto& c) { c.set_plateau_winsize(1, 0); }, "plateau_winsize[1]"},
      {"plateau", [](auto& c) { c.set_plateau_min_delta(-1); }, "plateau_min_delta"},
      {"fixed", [](auto& c) { c.set_plateau_metric("a"); }, "plateau_metric"},
      {"multifixed", [](auto& c) { c.add_stagelr(1); }, "stagelr[3]"},
      {"multifixed", [](auto& c) { c.add_stageiter(1); }, "stageiter[3]"},
      {"multifixed", [](auto& c) { c.set_stageiter(1, 2); }, "stageiter[1]"},
      {"multifixed", [](auto& c) { c.set_stagelr(0, -2); }, "stagelr[0]"},
      {"cosine", [](auto& c) { c.set_min_lr(1); }, "min_lr"},
      {"cosine", [](auto& c) { c.clear_max_iter(); }, "lr_policy"},
      {"cosine", [](auto& c) { c.set_warmup_iter(40); }, "warmup_iter"},
      {"cosine", [](auto& c) { c.set_cosine_cycle_mult(2); }, "cosine_cycle_mult"},
      {"cosine", [](auto& c) { c.set_cosine_cycle(3), c.set_cosine_cycle_mult(0.5f); }, "cosine_cycle_mult"},
      {"poly", [](auto& c) { c.set_cosine_cycle(3); }, "cosine_cycle"},
      {"onecycle", [](auto& c) { c.set_warmup_iter(3); }, "warmup_iter"},
      {"onecycle", [](auto& c) { c.set_onecycle_warmup(1); }, "onecycle_warmup"},
      {"onecycle", [](auto& c) { c.set_onecycle_div(0); }, "onecycle_div"},
      {"onecycle", [](auto& c) { c.set_onecycle_final_div(0.5f); }, "onecycle_final_div"},
      {"fixed", [](auto& c) { c.set_warmup_iter(3), c.set_rampup_interval(3); }, "rampup_interval"},
      {"fixed", [](auto& c) { c.set_warmup_policy("poly"); }, "warmup_policy"},
      {"fixed", [](auto& c) { c.set_warmup_iter(3), c.set_warmup_policy("lniear"); }, "warmup_policy"},
      {"fixed", [](auto& c) { c.set_warmup_iter(3), c.set_warmup_power(2); }, "warmup_power"},
      {"fixed", [](auto& c) { c.set_momentum_policy("ploy"); }, "momentum_policy"},
      {"fixed", [](auto& c) { c.set_momentum_policy("opt"), c.set_max_momentum(1); }, "max_momentum"},
      {"fixed", [](auto& c) { c.set_weight_decay_policy("opt"); }, "weight_decay_policy"},
      {"fixed", [](auto& c) { c.clear_max_iter(), c.set_weight_decay_policy("poly"); }, "weight_decay_policy"},
  };
  for (const Fault& f : faults) {
    caffe::SolverParameter config = config_of(f.policy);
    EXPECT_EQ(fault(config).field(), "none") << f.policy;
    f.spoil(config);
    EXPECT_EQ(fault(config).field(), f.field) << config.ShortDebugString();
  }
  caffe::SolverParameter config = config_of("cosin");
  EXPECT_NE(fault(config).hint().find("'cosine'"), std::string::npos);
}

}  // namespace
}  // namespace cortado
