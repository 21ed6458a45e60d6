#include <gtest/gtest.h>

#include "solvers/config.h"

namespace cortado {
namespace {

/// Six lines, one for each field that `text` does not set itself, then `text`.
std::string good_but(const std::string& text) {
  std::string lines;
  for (const char* line : {"net: \"net.prototxt\"", "base_lr: 0.01", "lr_policy: \"fixed\"", "max_iter: 100",
                           "test_iter: 10", "test_interval: 50"}) {
    const std::string name = std::string(line).substr(0, std::string(line).find(':') + 1);
    lines += (text.starts_with(name) ? std::string() : line) + "\n";
  }
  return lines + text;
}

std::vector<Diagnostic> mistakes_in(const std::string& text) {
  Mistakes mistakes;
  parse_solver(read_solver_from_text(text, "solver.prototxt"), mistakes);
  return mistakes.list();
}

TEST(CheckSolver, AcceptsAGoodOne) {
  EXPECT_TRUE(mistakes_in(good_but("")).empty());
  EXPECT_TRUE(
      mistakes_in(
          "train_net: \"a\" test_net: \"b\" test_iter: 1 test_interval: 1 base_lr: 0 lr_policy: \"fixed\" max_iter: 0")
          .empty());
}

TEST(CheckSolver, AcceptsWhatOtherCaffesSay) {
  for (const char* text :
       {"lr_policy: \"plateau\"\ngamma: 0.3 plateau_winsize: 10 plateau_winsize: 20",
        "warmup_iter: 5 warmup_start_lr: 0.001 local_lr_auto: true local_gw_ratio: 0.002",
        "rampup_interval: 5 rampup_lr: 0.001 min_lr: 0.0001 larc: true larc_policy: \"clip\" larc_eta: 0.002",
        "momentum: 0.9 momentum_policy: \"poly\" max_momentum: 0.95 momentum_power: 2 larc_policy: \"scale\"",
        "type: \"SAG\" momentum: 0.9 weight_decay_policy: \"poly\" weight_decay: 0.1 warmup_start_lr: 0.1",
        "solver_type: SAG"})
    EXPECT_TRUE(mistakes_in(good_but(text)).empty()) << text << ": " << mistakes_in(good_but(text))[0].message;
  EXPECT_TRUE(mistakes_in("net: \"a\" lr_policy: \"multifixed\" stagelr: 1 stageiter: 5 max_iter: 9").empty());
  EXPECT_TRUE(mistakes_in("net: \"a\" lr_policy: \"cosine\" base_lr: 1 max_epoch: 9 test_epoch: true test_interval: 5 "
                          "early_stop { }")
                  .empty());
}

TEST(SolverWarnings, ATestIntervalWithoutTests) {
  const auto warned = [](const std::string& text) {
    return solver_warnings(read_solver_from_text(text + " max_iter: 9", "solver.prototxt"));
  };
  const std::vector<Diagnostic> warnings = warned("net: \"a\"\ntest_interval: 50");
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].place.line, 2);
  EXPECT_TRUE(warned("net: \"a\"\ntest_interval: 50 test_iter: 3").empty());
  EXPECT_TRUE(warned("net: \"a\"\ntest_interval: 50 test_epoch: true").empty());
  EXPECT_TRUE(warned("train_net: \"a\"\ntest_interval: 50 test_net: \"b\" test_iter: 3").empty());
  EXPECT_TRUE(warned("net: \"a\"").empty());
}

struct Case {
  const char* text;     ///< line 7 and on
  const char* message;  ///< part of the first error
  int line;             ///< where it is shown; 0: the file
};

TEST(CheckSolver, FindsEachMistakeAtItsPlace) {
  const Case cases[] = {
      {"type: \"Adamm\"", "unknown solver type 'Adamm'", 7},
      {"lr_policy: \"fixd\"", "unknown lr_policy 'fixd'", 7},
      {"lr_policy: \"step\" gamma: 0.1", "needs stepsize", 7},
      {"lr_policy: \"step\" gamma: 0.1\nstepsize: 0", "stepsize is 0", 8},
      {"iter_size: 0", "iter_size is 0", 7},
      {"average_loss: 0", "average_loss is 0", 7},
      {"display: -1", "display is -1", 7},
      {"test_interval: 0", "no test_interval", 7},
      {"test_iter: -1", "test_iter is -1", 7},
      {"test_net: \"a\"\ntest_net: \"b\"", "1 test_iter for 2 test nets", 5},
      {"test_state { stage: \"a\" }\ntest_state { }", "2 test_state for 1 test nets", 7},
      {"train_net: \"a\"", "both train_net and net", 1},
      {"regularization_type: \"l2\"", "unknown regularization_type 'l2'", 7},
      {"clip_gradients: 0", "every gradient zero", 7},
      {"momentum: -0.5", "momentum is -0.5", 7},
      {"base_lr: nan", "not a finite number", 7},
      {"type: \"RMSProp\"\nmomentum: 0.9", "RMSProp has no momentum", 8},
      {"larc: true\ntype: \"AdamW\"", "AdamW does not support larc or local_lr_auto", 7},
      {"larc: true\nlarc_policy: \"scael\"", "unknown larc_policy 'scael'", 8},
      {"larc: true\nlocal_lr_auto: true", "both larc and local_lr_auto", 8},
      {"local_lr_auto: true\nlocal_gw_ratio: 0", "local_gw_ratio must be positive", 8},
      {"disabled_update: true", "disabled_update is an option of another Caffe, which is not supported", 7},
      {"min_lr: -1", "min_lr is -1", 7},
      {"warmup_iter: -3", "warmup_iter is -3", 7},
      {"warmup_iter: 3\nrampup_interval: 3", "both warmup_iter and rampup_interval", 8},
      {"warmup_iter: 3\nwarmup_policy: \"linera\"", "unknown warmup_policy 'linera'", 8},
      {"lr_policy: \"cosine\"\nwarmup_iter: 100", "leaves no iterations for the cosine", 8},
      {"lr_policy: \"onecycle\"\nwarmup_iter: 10", "has its own warm-up", 8},
      {"onecycle_div: 10", "belongs to lr_policy \"onecycle\"", 7},
      {"lr_policy: \"multifixed\"\nstagelr: 1\nstagelr: 2\nstageiter: 5", "2 stagelr for 1 stageiter", 9},
      {"momentum_policy: \"pooly\"", "unknown momentum_policy 'pooly'", 7},
      {"weight_decay_policy: \"opt\"", "unknown weight_decay_policy 'opt'", 7},
      {"ema_decay: 1", "ema_decay is 1, but must be at least 0 and less than 1", 7},
      {"ema_warmup: false", "ema_warmup without ema_decay", 7},
      {"early_stop {\n  patience: 0 }", "patience must be at least 1", 8},
      {"early_stop { min_delta: -1 }", "min_delta must not be negative", 7},
      {"max_epoch: 3", "both max_iter and max_epoch", 7},
      {"max_epoch: -3", "max_epoch is -3", 7},
      {"test_epoch: true", "both test_iter and test_epoch", 5},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    const std::vector<Diagnostic> found = mistakes_in(good_but(c.text));
    ASSERT_FALSE(found.empty());
    EXPECT_NE(found[0].message.find(c.message), std::string::npos) << found[0].message;
    EXPECT_EQ(found[0].place.file, "solver.prototxt");
    EXPECT_EQ(found[0].place.line, c.line);
  }
}

TEST(CheckSolver, FindsAllAtOnce) {
  EXPECT_EQ(mistakes_in("iter_size: 0 display: -2 type: \"x\"").size(), 6u) << "and: no net, base_lr, lr_policy";
}

TEST(CheckSolver, FindsANumberThatIsNotFiniteOnce) {
  for (const char* text : {"min_lr: nan", "min_lr: inf", "momentum: nan", "ema_decay: nan", "weight_decay: inf"}) {
    const std::string field = std::string(text).substr(0, std::string(text).find(':'));
    const std::vector<Diagnostic> found = mistakes_in(good_but(text));
    ASSERT_EQ(found.size(), 1u) << text;
    EXPECT_EQ(found[0].message, field + " is not a finite number");
  }
}

TEST(CheckSolver, AcceptsWhatDoesNothing) {
  for (const char* text :
       {"test_iter: 0", "eval_type: \"detection\"", "eval_type: \"classification\"", "lr_policy: \"poly\" power: 1"})
    EXPECT_TRUE(mistakes_in(good_but(text)).empty()) << text << ": " << mistakes_in(good_but(text))[0].message;
  EXPECT_TRUE(mistakes_in("net: \"n\" base_lr: 1 lr_policy: \"fixed\" test_iter: 0").empty()) << "no test_interval";
  const auto nets = [](const std::string& text) {
    Mistakes mistakes;  // base_lr is missing, among others
    return parse_solver(read_solver_from_text(text, "solver.prototxt"), mistakes).tests.nets;
  };
  EXPECT_EQ(nets("net: \"n\" test_iter: 0 test_iter: 0 test_net: \"t\""), 0);
  EXPECT_EQ(nets("net: \"n\" test_iter: 0 test_iter: 3"), 2) << "the second keeps its number";
}

TEST(CheckSolver, WarnsOfWhatCaffeLetsPass) {
  const auto warnings = [](const std::string& text) {
    return solver_warnings(read_solver_from_text(text, "solver.prototxt"));
  };
  ASSERT_EQ(warnings("net: \"n\"").size(), 1u);
  EXPECT_NE(warnings("net: \"n\"")[0].message.find("no max_iter"), std::string::npos);
  EXPECT_TRUE(warnings("max_iter: 0").empty());
  EXPECT_TRUE(warnings("max_epoch: 1 eval_type: \"detection\"").empty());
  EXPECT_EQ(warnings("max_iter: 1 eval_type: \"detecton\"").at(0).hint, "did you mean 'detection'?");
}

}  // namespace
}  // namespace cortado
