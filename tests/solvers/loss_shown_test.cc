// The loss that a training reports is the mean over the passes of an iteration, and what it logs is the mean over the
// latest average_loss iterations, whichever way the passes are run.

#include <algorithm>
#include <cmath>

#include "tests/solvers/by_ranks.h"
#include "tests/solvers/training.h"

namespace cortado {
namespace {

struct Reported {
  std::vector<double> losses, smoothed, logged;
  double last = 0;  ///< logged after the last update
};

/// `options`, with weights that do not move, so that the loss of a pass depends only on its number.
Reported report(const Device& device, const std::string& options) {
  Reported reported;
  Folder folder;
  const auto lines = logged([&] {
    Context context({.device = device});
    Solver solver = make_solver(
        tiny_solver(folder, with_defaults(options, {"base_lr: 1e-20", "display: 1", "max_iter: 6"})), {}, context);
    AfterIteration reader([&](const Progress& progress) {
      reported.losses.push_back(progress.loss);
      reported.smoothed.push_back(progress.smoothed_loss);
    });
    solver.add_observer(&reader);
    Requests requests{kRequestNothing};
    solver.run(requests);
  });
  const std::string before = "), loss = ", at_end = "Iteration 6, loss = ";
  for (const std::string& line : lines)
    if (line.starts_with(at_end))
      reported.last = std::stod(line.substr(at_end.size()));
    else if (const size_t at = line.find(before); line.starts_with("Iteration ") && at != std::string::npos)
      reported.logged.push_back(std::stod(line.substr(at + before.size())));
  return reported;
}

double mean(const std::vector<double>& values, size_t first, size_t end) {
  double sum = 0;
  for (size_t i = first; i < end; ++i) sum += values[i];
  return sum / double(end - first);
}

/// Expects the means of `each`, the losses of single passes.
void expect_means(const Reported& reported, const std::vector<double>& each, size_t passes, size_t average) {
  std::vector<double> losses;
  for (size_t i = 0; i + passes <= each.size() && losses.size() < 6; i += passes)
    losses.push_back(mean(each, i, i + passes));
  ASSERT_EQ(reported.losses.size(), 6u);
  ASSERT_EQ(reported.logged.size(), 6u);
  for (size_t i = 0; i < 6; ++i) {
    const double smoothed = mean(losses, i + 1 > average ? i + 1 - average : 0, i + 1);
    EXPECT_NEAR(reported.losses[i], losses[i], 1e-5 * losses[i]) << i;
    EXPECT_NEAR(reported.smoothed[i], smoothed, 1e-5 * smoothed) << i;
    EXPECT_NEAR(reported.logged[i], smoothed, 1e-4 * smoothed) << i;
  }
}

std::vector<double> losses_of_passes() { return report({}, "max_iter: 72").losses; }

TEST(LossShown, IsTheMeanOverThePassesOfAnIteration) {
  const std::vector<double> each = losses_of_passes();
  ASSERT_EQ(each.size(), 72u);
  EXPECT_GT(std::abs(each[0] - each[1]), 1e-3 * each[0]) << "all passes have the same loss";
  struct Way {
    std::string options;
    size_t passes;
  };
  const std::vector<Way> ways = {{"", 1},
                                 {"snapshot_diff: true", 1},
                                 {"iter_size: 3", 3},
                                 {"iter_size: 3 clip_gradients: 1", 3},
                                 {"iter_size: 2 lr_policy: 'plateau' gamma: 0.5 plateau_winsize: 2", 2},
                                 {"shards: 2", 2},
                                 {"shards: 2 iter_size: 3", 6}};
  for (const Device& device : {Device(), Device{DeviceKind::kSimulated, 0}})
    for (const Way& way : ways)
      for (const size_t average : {1, 4}) {
        const std::string options = way.options + " average_loss: " + std::to_string(average);
        SCOPED_TRACE(device.str() + " " + options);
        expect_means(report(device, options), each, way.passes, average);
      }
  for (const std::string options : {"shards: 2 local_steps: 3", "shards: 2 local_steps: 3 iter_size: 2"}) {
    SCOPED_TRACE(options);
    expect_means(report({}, options), each, options.ends_with("2") ? 12 : 6, 1);
  }
}

TEST(LossShown, AtTheEndHasOneMorePass) {
  const std::vector<double> each = losses_of_passes();
  for (const size_t average : {1, 4}) {
    const double expected = mean(each, 7 - average, 7);
    EXPECT_NEAR(report({}, "average_loss: " + std::to_string(average)).last, expected, 1e-4 * expected);
  }
}

TEST(LossShown, IsTheMeanOverTheRanks) {
  const std::vector<double> each = losses_of_passes();
  for (const std::string options : {"shards: 3 iter_size: 2", "shards: 3 iter_size: 2 local_steps: 2"}) {
    SCOPED_TRACE(options);
    Folder folder;
    std::vector<std::vector<double>> losses(2);
    std::vector<std::unique_ptr<AfterIteration>> readers(2);
    const auto file = [&] { return tiny_solver(folder, "base_lr: 1e-20 max_iter: 6 " + options); };
    expect_no_errors(train_by_ranks(2, file, {}, [&](int rank, Requests&, Solver& solver) {
      readers[size_t(rank)] = std::make_unique<AfterIteration>(
          [&losses, rank](const Progress& progress) { losses[size_t(rank)].push_back(progress.loss); });
      solver.add_observer(readers[size_t(rank)].get());
    }));
    const size_t passes = options.ends_with("local_steps: 2") ? 12 : 6;
    for (const std::vector<double>& of_rank : losses) {
      ASSERT_EQ(of_rank.size(), 6u);
      for (size_t i = 0; i < 6; ++i) {
        const double expected = mean(each, i * passes, (i + 1) * passes);
        EXPECT_NEAR(of_rank[i], expected, 1e-5 * expected);
      }
    }
  }
}

}  // namespace
}  // namespace cortado
