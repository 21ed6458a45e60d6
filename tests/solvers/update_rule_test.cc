// Every update rule against its formula written again, one weight at a time and in double.

#include "solvers/update_rule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "core/error.h"
#include "core/rng.h"
#include "solvers/schedule.h"
#include "tests/harness/places.h"

namespace cortado {
namespace {

double sign(double value) { return value > 0 ? 1 : value < 0 ? -1 : 0; }

/// What a rule does to one element of a weight, from its definition in the papers and in Caffe.
struct Reference {
  std::string type;
  double w, h0 = 0, h1 = 0;

  /// AdamW's direction, and LAMB's; advances the means.
  double adam_direction(const caffe::SolverParameter& config, int64_t iter, double g) {
    const double b1 = config.momentum(), b2 = config.momentum2(), t = double(iter) + 1;
    h0 = b1 * h0 + (1 - b1) * g;
    h1 = b2 * h1 + (1 - b2) * g * g;
    return h0 / (1 - std::pow(b1, t)) / (std::sqrt(h1 / (1 - std::pow(b2, t))) + config.delta());
  }

  /// `rate`: with what the norms of the whole weight make of it; `direction`: LAMB's.
  void step(const caffe::SolverParameter& config, int64_t iter, const WeightStep& at, double rate, double dw,
            double direction) {
    const double m = config.momentum(), delta = config.delta(), plain = dw * at.gradient_scale;
    const double decay = at.l2 * w + at.l1 * sign(w), g = plain + decay;
    if (type == "AdamW") {
      w -= rate * (adam_direction(config, iter, plain) + decay);
    } else if (type == "LAMB") {
      w -= rate * direction;
    } else if (type == "Lion") {
      const double b2 = config.momentum2(), toward = sign(m * h0 + (1 - m) * plain);
      h0 = b2 * h0 + (1 - b2) * plain;
      w -= rate * (toward + decay);
    } else if (type == "SAG") {
      h0 = m * h0 + (1 - m) * g;
      w -= rate * h0;
    } else if (type == "SGD" || type == "LARS") {
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

WeightStep step_of(const UpdateRule& rule, const caffe::SolverParameter& config, int64_t iter, float rate,
                   std::vector<float>& w, const std::vector<float>& dw, float* const (&history)[2]) {
  IterationStep iteration{.rates = {.rate = rate, .momentum = config.momentum(), .weight_decay = config.weight_decay()},
                          .correction = rule.correction(iter),
                          .iter = iter};
  return iteration.of(
      {.w = w.data(), .dw = dw.data(), .history = {history[0], history[1]}, .count = int64_t(w.size()), .rate = 1});
}

std::vector<WeightSums> scratch_for(const std::vector<float>& w) {
  return std::vector<WeightSums>(size_t(sum_of_squares_scratch(int64_t(w.size()))));
}

double norm(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v * v;
  return std::sqrt(sum);
}

/// One update of a whole weight.
void step_all(std::vector<Reference>& weight, const caffe::SolverParameter& config, int64_t iter, const WeightStep& at,
              double rate, const std::vector<float>& dw) {
  std::vector<double> w, g, direction(weight.size());
  for (size_t i = 0; i < weight.size(); ++i) {
    w.push_back(weight[i].w);
    g.push_back(double(dw[i]) * at.gradient_scale);
    if (config.type() == "LAMB")
      direction[i] = weight[i].adam_direction(config, iter, g[i]) + at.l2 * w[i] + at.l1 * sign(w[i]);
  }
  if (config.type() == "LAMB") rate *= norm(w) / norm(direction);
  if (config.type() == "LARS") rate *= config.larc_eta() * norm(w) / (norm(g) + at.l2 * norm(w));
  if (config.larc()) {
    const double own = (1 - config.momentum()) * config.larc_eta() * norm(w) / norm(g);
    rate = config.larc_policy() == "clip" ? std::min(rate, own) : rate * own;
  }
  if (config.local_lr_auto()) rate *= config.local_gw_ratio() * norm(w) / (norm(g) + config.weight_decay() * norm(w));
  for (size_t i = 0; i < weight.size(); ++i) weight[i].step(config, iter, at, rate, dw[i], direction[i]);
}

struct Decay {
  const char* name;
  float l2, l1, scale;
};

void compare(const caffe::SolverParameter& config, const Decay& decay, int threads) {
  SCOPED_TRACE(config.ShortDebugString() + " " + decay.name);
  constexpr int64_t kCount = 40007;
  Context context(threads);
  const auto made = make_update_rule(config);
  const UpdateRule& rule = *made;
  RandomStream random(7);
  std::vector<float> w(kCount), dw(kCount), h0(kCount), h1(kCount);
  for (float& v : w) v = random.below(50) == 0 ? 0 : float(random.normal());
  std::vector<Reference> references;
  for (float v : w) references.push_back({rule.name, v});
  float* const history[] = {h0.data(), h1.data()};
  for (int64_t iter = 0; iter < 6; ++iter) {
    for (float& v : dw) v = float(random.normal());
    const float rate = 0.05f / float(iter + 1);
    const std::vector<float> before = w;
    std::vector<float> update = dw;
    WeightStep step = step_of(rule, config, iter, rate, w, update, history);
    step.gradient_scale = decay.scale, step.l2 = decay.l2, step.l1 = decay.l1;
    if (iter % 2 == 1) step.kept = update.data();
    rule.update(context, step, scratch_for(w).data());
    step_all(references, config, iter, step, rate, dw);
    for (int64_t i = 0; i < kCount; ++i) {
      const Reference& reference = references[size_t(i)];
      const double near = 2e-6 * double(iter + 1) * (1 + std::abs(reference.w));
      ASSERT_NEAR(w[size_t(i)], reference.w, near) << "element " << i << ", iteration " << iter;
      ASSERT_NEAR(h0[size_t(i)], reference.h0, 1e-5 * (1 + std::abs(reference.h0)));
      ASSERT_NEAR(h1[size_t(i)], reference.h1, 1e-5 * (1 + std::abs(reference.h1)));
      if (step.kept) {
        ASSERT_EQ(before[size_t(i)] - update[size_t(i)], w[size_t(i)]) << "it keeps another update";
      }
    }
    if (!step.kept) {
      ASSERT_EQ(update, dw);
    }
  }
}

const Decay kDecays[] = {
    {"plain", 0, 0, 1}, {"L2", 0.01f, 0, 1}, {"L1", 0, 0.02f, 1}, {"iter_size 4 and clipped", 0.01f, 0, 0.25f * 0.3f}};

TEST(UpdateRule, FollowsItsFormula) {
  for (const std::string& name : all_update_rules())
    for (const Decay& decay : kDecays) compare(config_of(name), decay, 2);
}

TEST(UpdateRule, TakesRatesOfEachLayersOwn) {
  for (const char* type : {"SGD", "Nesterov", "SAG"})
    for (const Decay& decay : kDecays) {
      caffe::SolverParameter config = config_of(type);
      config.set_weight_decay(0.03f);
      config.set_local_lr_auto(true);
      config.set_local_gw_ratio(0.2f);
      compare(config, decay, 2);
      config.set_local_lr_auto(false);
      config.set_larc(true);
      config.set_larc_eta(0.7f);
      compare(config, decay, 2);
      config.set_larc_policy("clip");
      compare(config, decay, 2);
    }
}

/// What takes the place of lr_mult where there is nothing to measure, and lr_mult itself does not count.
TEST(UpdateRule, LayerRatesReplaceTheMultiplier) {
  for (const bool larc : {true, false}) {
    Context context(1);
    caffe::SolverParameter config = config_of("SGD");
    config.set_larc(larc);
    config.set_local_lr_auto(!larc);
    std::vector<float> w(3), dw = {1, 2, 3}, h0(3), h1(3);
    float* const history[] = {h0.data(), h1.data()};
    const auto rule = make_update_rule(config);
    WeightStep step = step_of(*rule, config, 0, 0.5f, w, dw, history);
    step.rate *= 7;
    rule->update(context, step, scratch_for(w).data());
    EXPECT_EQ(w, (std::vector<float>{-0.5f, -1, -1.5f}));
  }
}

/// The cosine between gradient and velocity counts from the third iteration on.
TEST(UpdateRule, LarcTurboFollowsItsFormula) {
  Context context(1);
  caffe::SolverParameter config = config_of("SGD");
  config.set_larc(true);
  config.set_larc_turbo(true);
  config.set_larc_eta(0.3f);
  const auto rule = make_update_rule(config);
  std::vector<float> w = {1, -2, 0.5f}, dw(3), h0(3), h1(3);
  float* const history[] = {h0.data(), h1.data()};
  float memory = 0;
  std::vector<double> x(w.begin(), w.end()), h(3);
  double mean = 0;
  for (int64_t iter = 0; iter < 6; ++iter) {
    dw = {float(iter + 1), 0.5f, -1.0f / float(iter + 1)};
    WeightStep step = step_of(*rule, config, iter, 0.1f, w, dw, history);
    step.memory = &memory;
    rule->update(context, step, scratch_for(w).data());
    const std::vector<double> g(dw.begin(), dw.end());
    double rate = 0.1 * (1 - 0.9) * 0.3 * norm(x) / norm(g), dot = 0;
    for (int i = 0; i < 3; ++i) dot += g[size_t(i)] * h[size_t(i)];
    if (iter > 1) mean = 0.95 * mean + 0.05 * dot / norm(g) / norm(h);
    rate *= 1 - 0.9 * mean;
    for (size_t i = 0; i < 3; ++i) {
      h[i] = 0.9 * h[i] + rate * g[i];
      x[i] -= h[i];
      EXPECT_NEAR(w[i], x[i], 1e-6) << "iteration " << iter;
    }
    EXPECT_NEAR(memory, mean, 1e-6);
  }
  EXPECT_GT(memory, 0.05f);
}

TEST(UpdateRule, EveryFileRegistersOne) {
  const std::filesystem::directory_iterator files(in_source("solvers/rules"));
  EXPECT_EQ(all_update_rules().size(), size_t(std::distance(begin(files), end(files))));
  EXPECT_GE(all_update_rules().size(), 11u);
}

TEST(UpdateRule, ThreadsDoNotChangeBits) {
  for (const std::string& name : all_update_rules()) {
    const caffe::SolverParameter config = config_of(name);
    const auto rule = make_update_rule(config);
    std::vector<std::vector<float>> results;
    for (int threads : {1, 2, 3}) {
      Context context(threads);
      RandomStream random(3);
      std::vector<float> w(50000), dw(w.size()), h0(w.size()), h1(w.size());
      for (float& v : w) v = float(random.normal());
      float* const history[] = {h0.data(), h1.data()};
      for (int64_t iter = 0; iter < 3; ++iter) {
        for (float& v : dw) v = float(random.normal());
        WeightStep step = step_of(*rule, config, iter, 0.1f, w, dw, history);
        step.l2 = 0.01f;
        rule->update(context, step, scratch_for(w).data());
      }
      results.push_back(w);
    }
    EXPECT_EQ(results[0], results[1]) << name;
    EXPECT_EQ(results[0], results[2]) << name;
  }
}

/// Blocked storage has lanes that no weight uses; libraries rely on their being zero.
TEST(UpdateRule, PaddingStaysZero) {
  for (const std::string& name : all_update_rules()) {
    Context context(1);
    const caffe::SolverParameter config = config_of(name);
    const auto rule = make_update_rule(config);
    std::vector<float> w(64), dw(64), h0(64), h1(64);
    float* const history[] = {h0.data(), h1.data()};
    for (int64_t iter = 0; iter < 3; ++iter) {
      WeightStep step = step_of(*rule, config, iter, 0.1f, w, dw, history);
      step.gradient_scale = 0.5f, step.l2 = 0.01f, step.l1 = 0.01f;
      rule->update(context, step, scratch_for(w).data());
    }
    for (float v : w) ASSERT_EQ(v, 0) << name;
  }
}

std::string field_at_fault(const caffe::SolverParameter& config) {
  try {
    make_update_rule(config);
  } catch (const FieldError& error) {
    return error.field();
  }
  return "";
}

TEST(UpdateRule, RefusesOptionsItCannotWorkWith) {
  for (const std::string& name : all_update_rules()) EXPECT_EQ(field_at_fault(config_of(name)), "") << name;
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
  for (const char* type : {"Adam", "AdamW", "LAMB", "Lion", "AdaDelta"}) {
    config = config_of(type);
    config.set_momentum_policy("poly");
    EXPECT_EQ(field_at_fault(config), "momentum_policy") << type;
    config = config_of(type);
    config.set_larc(true);
    EXPECT_EQ(field_at_fault(config), "larc") << type;
  }
  config = config_of("LARS");
  config.set_local_lr_auto(true);
  EXPECT_EQ(field_at_fault(config), "local_lr_auto");
  config = config_of("LARS");
  config.set_larc_eta(0);
  EXPECT_EQ(field_at_fault(config), "larc_eta");
  EXPECT_EQ(field_at_fault(config_of("sgd")), "type");
}

}  // namespace
}  // namespace cortado
