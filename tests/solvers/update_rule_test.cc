// Every update rule against its formula written again, one weight at a time and in double.

#include "solvers/update_rule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "core/error.h"
#include "core/rng.h"

namespace cortado {
namespace {

/// What a rule does to one weight, from its definition in the papers and in Caffe.
struct Reference {
  std::string type;
  double w, h0 = 0, h1 = 0;

  void step(const caffe::SolverParameter& config, int64_t iter, const WeightStep& at, double base_rate, double dw) {
    const double m = config.momentum(), delta = config.delta(), rate = base_rate;
    double g = dw * at.gradient_scale;
    g += at.l2 * w;
    g += w > 0 ? at.l1 : w < 0 ? -at.l1 : 0;
    if (type == "SGD") {
      h0 = m * h0 + rate * g;
      w -= h0;
    } else if (type == "Nesterov") {
      const double before = h0;
      h0 = m * h0 + rate * g;
      w -= (1 + m) * h0 - m * before;
    } else if (type == "AdaGrad") {
      h0 += g * g;
      w -= rate * g / (std::sqrt(h0) + delta);
    } else if (type == "RMSProp") {
      h0 = config.rms_decay() * h0 + (1 - config.rms_decay()) * g * g;
      w -= rate * g / (std::sqrt(h0) + delta);
    } else if (type == "AdaDelta") {
      h0 = m * h0 + (1 - m) * g * g;
      const double d = g * std::sqrt((h1 + delta) / (h0 + delta));
      h1 = m * h1 + (1 - m) * d * d;
      w -= rate * d;
    } else if (type == "Adam") {
      const double b2 = config.momentum2(), t = double(iter) + 1;
      h0 = m * h0 + (1 - m) * g;
      h1 = b2 * h1 + (1 - b2) * g * g;
      w -= rate * std::sqrt(1 - std::pow(b2, t)) / (1 - std::pow(m, t)) * h0 / (std::sqrt(h1) + delta);
    } else {
      FAIL() << "no reference for " << type;
    }
  }
};

caffe::SolverParameter config_of(const std::string& type) {
  caffe::SolverParameter config;
  config.set_type(type);
  config.set_delta(type == "AdaDelta" ? 1e-4f : 1e-3f);
  if (type != "AdaGrad" && type != "RMSProp") config.set_momentum(0.9f);
  config.set_momentum2(0.97f);
  config.set_rms_decay(0.95f);
  return config;
}

WeightStep step_of(const UpdateRule& rule, const caffe::SolverParameter& config, int64_t iter, float rate, std::vector<float>& w,
                   const std::vector<float>& dw, float* const (&history)[2]) {
  const IterationStep iteration{rule.correction(config, iter), rate};
  return {.w = w.data(),
          .dw = dw.data(),
          .history = {history[0], history[1]},
          .count = int64_t(w.size()),
          .rate = iteration.rate_of(1)};
}

struct Decay {
  const char* name;
  float l2, l1, scale;
};

void compare(const UpdateRule& rule, const Decay& decay, int threads) {
  SCOPED_TRACE(rule.name + " " + decay.name);
  constexpr int64_t kCount = 10007;
  Context context(threads);
  const caffe::SolverParameter config = config_of(rule.name);
  RandomStream random(7);
  std::vector<float> w(kCount), dw(kCount), h0(kCount), h1(kCount);
  for (float& v : w) v = random.below(50) == 0 ? 0 : float(random.normal());
  std::vector<Reference> references;
  for (float v : w) references.push_back({rule.name, v});
  float* const history[] = {h0.data(), h1.data()};
  for (int64_t iter = 0; iter < 6; ++iter) {
    for (float& v : dw) v = float(random.normal());
    const float rate = 0.05f / float(iter + 1);
    WeightStep step = step_of(rule, config, iter, rate, w, dw, history);
    step.gradient_scale = decay.scale, step.l2 = decay.l2, step.l1 = decay.l1;
    rule.update(context, config, step);
    for (int64_t i = 0; i < kCount; ++i) {
      Reference& reference = references[size_t(i)];
      reference.step(config, iter, step, rate, dw[size_t(i)]);
      const double near = 2e-6 * double(iter + 1) * (1 + std::abs(reference.w));
      ASSERT_NEAR(w[size_t(i)], reference.w, near) << "element " << i << ", iteration " << iter;
      ASSERT_NEAR(h0[size_t(i)], reference.h0, 1e-5 * (1 + std::abs(reference.h0)));
      ASSERT_NEAR(h1[size_t(i)], reference.h1, 1e-5 * (1 + std::abs(reference.h1)));
    }
  }
}

TEST(UpdateRule, FollowsItsFormula) {
  for (const UpdateRule* rule : all_update_rules())
    for (const Decay& decay : {Decay{"plain", 0, 0, 1}, Decay{"L2", 0.01f, 0, 1}, Decay{"L1", 0, 0.02f, 1},
                               Decay{"iter_size 4 and clipped", 0.01f, 0, 0.25f * 0.3f}})
      compare(*rule, decay, 2);
}

TEST(UpdateRule, EveryFileRegistersOne) {
  const std::filesystem::directory_iterator files(CORTADO_SOURCE_DIR "/solvers/rules");
  EXPECT_EQ(all_update_rules().size(), size_t(std::distance(begin(files), end(files))));
  EXPECT_GE(all_update_rules().size(), 6u);
}

TEST(UpdateRule, ThreadsDoNotChangeBits) {
  for (const UpdateRule* rule : all_update_rules()) {
    std::vector<std::vector<float>> results;
    for (int threads : {1, 2, 3}) {
      Context context(threads);
      const caffe::SolverParameter config = config_of(rule->name);
      RandomStream random(3);
      std::vector<float> w(50000), dw(w.size()), h0(w.size()), h1(w.size());
      for (float& v : w) v = float(random.normal());
      float* const history[] = {h0.data(), h1.data()};
      for (int64_t iter = 0; iter < 3; ++iter) {
        for (float& v : dw) v = float(random.normal());
        WeightStep step = step_of(*rule, config, iter, 0.1f, w, dw, history);
        step.l2 = 0.01f;
        rule->update(context, config, step);
      }
      results.push_back(w);
    }
    EXPECT_EQ(results[0], results[1]) << rule->name;
    EXPECT_EQ(results[0], results[2]) << rule->name;
  }
}

/// Blocked storage has lanes that no weight uses; libraries rely on their being zero.
TEST(UpdateRule, PaddingStaysZero) {
  for (const UpdateRule* rule : all_update_rules()) {
    Context context(1);
    caffe::SolverParameter config = config_of(rule->name);
    std::vector<float> w(64), dw(64), h0(64), h1(64);
    float* const history[] = {h0.data(), h1.data()};
    for (int64_t iter = 0; iter < 3; ++iter) {
      WeightStep step = step_of(*rule, config, iter, 0.1f, w, dw, history);
      step.gradient_scale = 0.5f, step.l2 = 0.01f, step.l1 = 0.01f;
      rule->update(context, config, step);
    }
    for (float v : w) ASSERT_EQ(v, 0) << rule->name;
  }
}

std::string field_at_fault(const caffe::SolverParameter& config) {
  try {
    find_update_rule(config.type())->check(config);
  } catch (const FieldError& error) {
    return error.field();
  }
  return "";
}

TEST(UpdateRule, RefusesOptionsItCannotWorkWith) {
  for (const UpdateRule* rule : all_update_rules()) EXPECT_EQ(field_at_fault(config_of(rule->name)), "") << rule->name;
  for (const char* type : {"AdaGrad", "RMSProp"}) {
    caffe::SolverParameter config = config_of(type);
    config.set_momentum(0.9f);
    EXPECT_EQ(field_at_fault(config), "momentum");
    config = config_of(type);
    config.set_delta(0);
    EXPECT_EQ(field_at_fault(config), "delta");
  }
  caffe::SolverParameter config = config_of("Adam");
  config.set_momentum2(1);
  EXPECT_EQ(field_at_fault(config), "momentum2");
  config = config_of("RMSProp");
  config.set_rms_decay(-0.1f);
  EXPECT_EQ(field_at_fault(config), "rms_decay");
  EXPECT_EQ(find_update_rule("sgd"), nullptr);
}

}  // namespace
}  // namespace cortado
