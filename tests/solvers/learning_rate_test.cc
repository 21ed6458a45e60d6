#include "solvers/learning_rate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "core/error.h"

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
  return config;
}

TEST(LearningRate, FollowsItsFormula) {
  const double base = 0.02f, gamma = 0.9f;
  const auto passed = [](int i) { return (i >= 5) + (i >= 9) + (i >= 30); };
  const std::map<std::string, std::function<double(int)>> expected = {
      {"fixed", [&](int) { return base; }},
      {"step", [&](int i) { return base * std::pow(gamma, i / 7); }},
      {"exp", [&](int i) { return base * std::pow(gamma, i); }},
      {"inv", [&](int i) { return base * std::pow(1 + gamma * i, -0.75); }},
      {"multistep", [&](int i) { return base * std::pow(gamma, passed(i)); }},
      {"poly", [&](int i) { return base * std::pow(1 - i / 40.0, 0.75); }},
      {"sigmoid", [&](int i) { return base / (1 + std::exp(-gamma * (i - 7))); }},
  };
  ASSERT_EQ(all_lr_policies().size(), expected.size());
  for (const std::string& policy : all_lr_policies()) {
    const caffe::SolverParameter config = config_of(policy);
    LearningRate rate(config);
    for (int i = 0; i < 40; ++i)
      EXPECT_NEAR(rate.next(i), expected.at(policy)(i), 2e-7 * base) << policy << " at " << i;
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
}

TEST(LearningRate, PolyEndsAtZero) {
  const caffe::SolverParameter config = config_of("poly");
  LearningRate rate(config);
  EXPECT_EQ(rate.next(40), 0);
  EXPECT_EQ(rate.next(41), 0);
}

FieldError fault(const caffe::SolverParameter& config) {
  try {
    LearningRate rate(config);
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
  EXPECT_EQ(fault(config).field(), "stepsize");
  config = config_of("exp");
  config.clear_gamma();
  EXPECT_EQ(fault(config).field(), "gamma");
  config = config_of("multistep");
  config.set_stepvalue(2, 6);
  EXPECT_EQ(fault(config).field(), "stepvalue[2]");
  config = config_of("poly");
  config.clear_max_iter();
  EXPECT_EQ(fault(config).field(), "max_iter");
}

}  // namespace
}  // namespace cortado
