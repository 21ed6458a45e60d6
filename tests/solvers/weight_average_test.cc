// The average of the weights against its formula in double, and who sees it: tests do, training does not.

#include "solvers/weight_average.h"

#include "proto/weights/weights_file.h"
#include "tests/solvers/training.h"

namespace cortado {
namespace {

std::vector<double> weights_of(const caffe::NetParameter& net) {
  std::vector<double> all;
  for (const caffe::LayerParameter& layer : net.layer())
    for (const caffe::BlobProto& blob : layer.blobs()) all.insert(all.end(), blob.data().begin(), blob.data().end());
  return all;
}

std::vector<double> weights_in(const std::string& path) {
  caffe::NetParameter net;
  EXPECT_TRUE(net.ParseFromString(read_file(path))) << path;
  return weights_of(net);
}

/// Trains on `device`; the average of all weights that the solver had, by the formula.
std::vector<double> train_and_average(SolverFile file, const Device& device, double most) {
  Context context({.threads = 2, .device = device});
  Solver solver = make_solver(std::move(file), {}, context);
  std::vector<double> average = weights_of(solver.net().to_proto());
  while (solver.iter() < solver.progress().max_iter && solver.step(1)) {
    const double n = double(solver.iter() - 1), decay = std::min(most, (1 + n) / (10 + n));
    const std::vector<double> now = weights_of(solver.net().to_proto());
    for (size_t i = 0; i < now.size(); ++i) average[i] = decay * average[i] + (1 - decay) * now[i];
  }
  Requests requests{kRequestNothing};
  EXPECT_EQ(solver.run(requests), Outcome::kFinished);
  return average;
}

double test_loss(SolverFile file) {
  Context context(1);
  Solver solver = make_solver(std::move(file), {}, context);
  Requests requests{kRequestNothing};
  solver.run(requests);
  return solver.testers()[0].scores()[0].value;
}

TEST(WeightAverage, FollowsItsFormulaAndLeavesTrainingAlone) {
  for (const Device device : {Device{}, Device{DeviceKind::kSimulated, 0}}) {
    Folder with, without;
    const std::string options = "momentum: 0.9 test_iter: 2 test_interval: 4 ";
    const std::vector<double> expected = train_and_average(tiny_solver(with, options + "ema_decay: 0.4"), device, 0.4);
    train_and_average(tiny_solver(without, options), device, 0.4);
    const std::vector<double> average = weights_in(with / "tiny_iter_12_ema.caffemodel");
    ASSERT_EQ(average.size(), expected.size());
    for (size_t i = 0; i < average.size(); ++i) EXPECT_NEAR(average[i], expected[i], 1e-6) << i;
    EXPECT_EQ(read_file(with / "tiny_iter_12.caffemodel"), read_file(without / "tiny_iter_12.caffemodel"));
    EXPECT_FALSE(file_exists(without / "tiny_iter_12_ema.caffemodel"));
    EXPECT_NE(average, weights_in(with / "tiny_iter_12.caffemodel"));
    const caffe::TrainingState training = read_state(with / "tiny_iter_12.solverstate").training();
    EXPECT_EQ(training.average_updates(), 12);
    EXPECT_EQ(training.average_size(), read_state(with / "tiny_iter_12.solverstate").history_size());
  }
}

TEST(WeightAverage, IsWhatTestsSee) {
  Folder folder;
  const std::string last_test = "test_iter: 3 test_initialization: false ";
  const double seen = test_loss(tiny_solver(folder, last_test + "test_interval: 12 ema_decay: 0.5"));
  const auto loss_of = [&](const char* weights) {
    return test_loss(tiny_solver(
        folder,
        last_test + "test_interval: 1 max_iter: 0 snapshot_after_train: false weights: \"" + folder / weights + "\""));
  };
  EXPECT_EQ(seen, loss_of("tiny_iter_12_ema.caffemodel"));
  EXPECT_NE(seen, loss_of("tiny_iter_12.caffemodel"));
}

TEST(WeightAverage, BeginsAnewWhereASnapshotHasNone) {
  Folder folder;
  train(tiny_solver(folder), "", 4);
  train(tiny_solver(folder, "ema_decay: 0.5"), "auto");
  EXPECT_EQ(read_state(folder / "tiny_iter_12.solverstate").training().average_updates(), 8);
  train(tiny_solver(folder, "max_iter: 14"), "auto");
  EXPECT_EQ(read_state(folder / "tiny_iter_14.solverstate").training().average_size(), 0);
}

}  // namespace
}  // namespace cortado
