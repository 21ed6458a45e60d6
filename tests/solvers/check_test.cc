#include "solvers/check.h"

#include <gtest/gtest.h>

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

std::vector<Mistake> mistakes_in(const std::string& text) {
  Mistakes mistakes;
  check_solver(read_solver_from_text(text, "solver.prototxt"), mistakes);
  return mistakes.list();
}

TEST(CheckSolver, AcceptsAGoodOne) {
  EXPECT_TRUE(mistakes_in(good_but("")).empty());
  EXPECT_TRUE(
      mistakes_in(
          "train_net: \"a\" test_net: \"b\" test_iter: 1 test_interval: 1 base_lr: 0 lr_policy: \"fixed\" max_iter: 0")
          .empty());
}

struct Case {
  const char* text;     ///< line 7 and on
  const char* message;  ///< part of the first mistake
  int line;             ///< where it is shown; 0: the file
};

TEST(CheckSolver, FindsEachMistakeAtItsPlace) {
  const Case cases[] = {
      {"type: \"Adamm\"", "unknown solver type 'Adamm'", 7},
      {"lr_policy: \"fixd\"", "unknown lr_policy 'fixd'", 7},
      {"lr_policy: \"step\" gamma: 0.1", "needs stepsize", 0},
      {"lr_policy: \"step\" gamma: 0.1\nstepsize: 0", "stepsize is 0", 8},
      {"iter_size: 0", "iter_size is 0", 7},
      {"average_loss: 0", "average_loss is 0", 7},
      {"display: -1", "display is -1", 7},
      {"test_interval: 0", "no test_interval", 7},
      {"test_iter: 0", "test_iter is 0", 7},
      {"test_net: \"a\"\ntest_net: \"b\"", "1 test_iter for 2 test nets", 5},
      {"test_state { stage: \"a\" }\ntest_state { }", "2 test_state for 1 test nets", 7},
      {"train_net: \"a\"", "both train_net and net", 1},
      {"regularization_type: \"l2\"", "unknown regularization_type 'l2'", 7},
      {"clip_gradients: 0", "every gradient zero", 7},
      {"momentum: -0.5", "momentum is -0.5", 7},
      {"base_lr: nan", "not a finite number", 7},
      {"type: \"RMSProp\"\nmomentum: 0.9", "RMSProp has no momentum", 8},
      {"larc: true", "not supported", 7},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    const std::vector<Mistake> found = mistakes_in(good_but(c.text));
    ASSERT_FALSE(found.empty());
    EXPECT_NE(found[0].message.find(c.message), std::string::npos) << found[0].message;
    EXPECT_EQ(found[0].place.file, "solver.prototxt");
    EXPECT_EQ(found[0].place.line, c.line);
  }
}

TEST(CheckSolver, FindsAllAtOnce) {
  EXPECT_EQ(mistakes_in("iter_size: 0 display: -2 type: \"x\"").size(), 7u)
      << "and: no net, max_iter, base_lr, lr_policy";
}

}  // namespace
}  // namespace cortado
