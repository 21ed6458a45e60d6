// Iterations of local steps: what they are by their formula, that several ranks make the same of them to the bit, and
// that a resume is exact.

#include <array>

#include "tests/solvers/by_ranks.h"
#include "tests/solvers/dataset.h"
#include "tests/solvers/training.h"

namespace cortado {
namespace {

constexpr int kBatch = 4, kInputs = 6, kOutputs = 3, kWeights = kOutputs * kInputs + kOutputs;

constexpr const char* kLinear = R"(
  layer { name: "data" type: "DummyData" top: "data" top: "target"
          dummy_data_param { shape { dim: 4 dim: 6 } shape { dim: 4 dim: 3 }
                             data_filler { type: "gaussian" } data_filler { type: "gaussian" } } }
  layer { name: "linear" type: "InnerProduct" bottom: "data" top: "linear"
          inner_product_param { num_output: 3 weight_filler { type: "gaussian" std: 0.3 } } }
  layer { name: "loss" type: "EuclideanLoss" bottom: "linear" bottom: "target" top: "loss" })";

/// The matrix, row after row, then the bias.
using Weights = std::array<double, kWeights>;

Weights weights_of(Net& net) {
  Weights weights{};
  size_t at = 0;
  const caffe::NetParameter message = net.to_proto();
  for (const caffe::LayerParameter& layer : message.layer())
    for (const caffe::BlobProto& blob : layer.blobs())
      for (const float value : blob.data()) weights.at(at++) = value;
  return weights;
}

/// Of 1 / (2 N) sum of (W x + b - t)^2, over the batch of a pass.
Weights gradient(Net& net, uint64_t pass, const Weights& w) {
  net.context().pass = pass;
  net.forward();
  const std::vector<float> x = net.read_blob("data"), t = net.read_blob("target");
  Weights g{};
  for (int n = 0; n < kBatch; ++n)
    for (int o = 0; o < kOutputs; ++o) {
      double error = w[size_t(kOutputs * kInputs + o)] - double(t[size_t(n * kOutputs + o)]);
      for (int i = 0; i < kInputs; ++i) error += w[size_t(o * kInputs + i)] * double(x[size_t(n * kInputs + i)]);
      for (int i = 0; i < kInputs; ++i)
        g[size_t(o * kInputs + i)] += error * double(x[size_t(n * kInputs + i)]) / kBatch;
      g[size_t(kOutputs * kInputs + o)] += error / kBatch;
    }
  return g;
}

TEST(LocalSteps, AreTheirFormula) {
  constexpr int kIterations = 3, kShards = 3, kSteps = 4, kIterSize = 2;
  constexpr double kRate = 0.05, kMomentum = 0.9, kDecay = 0.01, kOuterRate = 0.6, kOuterMomentum = 0.8;
  Folder of_reference, of_training;
  const auto solver = [&](const Folder& folder) {
    return tiny_solver(folder,
                       "base_lr: 0.05 momentum: 0.9 weight_decay: 0.01 shards: 3 local_steps: 4 iter_size: 2 outer_lr: "
                       "0.6 outer_momentum: 0.8 max_iter: 3 ",
                       kLinear);
  };
  Context context(1);
  SolverOptions looked_into;
  looked_into.observed = true;
  Solver batches = make_solver(solver(of_reference), looked_into, context);
  Weights common = weights_of(batches.net()), outer{};
  std::array<Weights, kShards> velocity{};
  uint64_t pass = 0;
  for (int iter = 0; iter < kIterations; ++iter) {
    Weights mean{};
    for (int s = 0; s < kShards; ++s) {
      Weights w = common;
      for (int h = 0; h < kSteps; ++h) {
        Weights g{};
        for (int k = 0; k < kIterSize; ++k) {
          const Weights one = gradient(batches.net(), pass++, w);
          for (size_t i = 0; i < kWeights; ++i) g[i] += one[i] / kIterSize;
        }
        for (size_t i = 0; i < kWeights; ++i) {
          velocity[size_t(s)][i] = kMomentum * velocity[size_t(s)][i] + kRate * (g[i] + kDecay * w[i]);
          w[i] -= velocity[size_t(s)][i];
        }
      }
      for (size_t i = 0; i < kWeights; ++i) mean[i] += (w[i] - common[i]) / kShards;
    }
    for (size_t i = 0; i < kWeights; ++i) {
      outer[i] = kOuterMomentum * outer[i] - mean[i];
      common[i] -= kOuterRate * (kOuterMomentum * outer[i] - mean[i]);
    }
  }
  Context own(1);
  Solver trained = make_solver(solver(of_training), {}, own);
  const Weights first = weights_of(trained.net());
  trained.step(kIterations);
  const Weights last = weights_of(trained.net());
  EXPECT_GT(std::abs(last[0] - first[0]), 0.01);
  for (size_t i = 0; i < kWeights; ++i) EXPECT_NEAR(last[i], common[i], 1e-5) << "weight " << i;
}

struct LocalCase {
  const char *name, *options;
  bool data = false;
};

constexpr const char* kNorm = R"(
            layer { name: "norm" type: "BatchNorm" bottom: "conv" top: "conv" }
            layer { name: "drop" type: "Dropout" bottom: "conv" top: "conv" })";

class LocalStepsByRanks : public ::testing::TestWithParam<LocalCase> {
 protected:
  LocalStepsByRanks()
      : net_(GetParam().data ? data_net(make_dataset(data_), 3, kNorm) : kNet),
        options_(std::string(GetParam().options) + " local_steps: 3 max_iter: 8 ") {
    train(tiny_solver(alone_, options_ + "shards: 4 ", net_));
  }
  SolverFile solver(const Folder& folder, const std::string& more = {}) const {
    return tiny_solver(folder, options_ + more, net_);
  }
  void expect_same(const Folder& folder) const {
    EXPECT_TRUE(read_file(folder / "tiny_iter_8.caffemodel") == read_file(alone_ / "tiny_iter_8.caffemodel"));
    EXPECT_TRUE(bytes_of(read_state(folder / "tiny_iter_8.solverstate")) ==
                bytes_of(read_state(alone_ / "tiny_iter_8.solverstate")));
  }

  Folder data_, alone_;
  std::string net_, options_;
};

TEST_P(LocalStepsByRanks, GiveTheBitsOfOneProcess) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    SCOPED_TRACE(std::to_string(ranks) + " ranks");
    Folder folder;
    expect_no_errors(train_by(ranks, [&] { return solver(folder, "shards: 4 "); }));
    expect_same(folder);
  }
}

TEST_P(LocalStepsByRanks, GoOnByOtherNumbersOfRanks) {
  Folder folder;
  const auto file = [&] { return solver(folder); };  // the shards are the snapshot's
  expect_no_errors(train_by(4, file, "", 2));
  EXPECT_EQ(read_state(folder / "tiny_iter_2.solverstate").training().shards(), 4);
  expect_no_errors(train_by(3, file, "auto", 4));
  train(file(), "auto", 6);
  expect_no_errors(train_by(2, file, "auto"));
  expect_same(folder);
}

INSTANTIATE_TEST_SUITE_P(
    All, LocalStepsByRanks,
    ::testing::Values(LocalCase{"Momentum", "momentum: 0.9 weight_decay: 0.01"},
                      LocalCase{"Adam", "type: \"Adam\" momentum: 0.9"},
                      LocalCase{"Lamb", "type: \"LAMB\" momentum: 0.9 clip_gradients: 0.05"},
                      LocalCase{"Larc", "larc: true momentum: 0.9 iter_size: 2"},
                      LocalCase{"Data", "momentum: 0.9 iter_size: 2 test_iter: 5 test_interval: 3 snapshot: 3", true},
                      LocalCase{"Average", "ema_decay: 0.9 test_iter: 2 test_interval: 3", true}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(LocalSteps, DivergeOnAllRanksAtOnce) {
  Folder folder;
  for (const std::exception_ptr& error :
       train_by(3, [&] { return tiny_solver(folder, "base_lr: 1e20 local_steps: 9 shards: 4 "); }))
    EXPECT_EQ(exit_code_of([&] {
                if (error) std::rethrow_exception(error);
              }),
              ExitCode::kDiverged);
}

/// One that has no local steps is a beginning like any other: the shards all begin with its history.
TEST(LocalSteps, GoOnFromATrainingWithout) {
  Folder folder;
  train(tiny_solver(folder, "momentum: 0.9 shards: 2 max_iter: 4 "));
  EXPECT_EQ(train(tiny_solver(folder, "momentum: 0.9 local_steps: 3 max_iter: 8 "), "auto"), Outcome::kFinished);
  const caffe::SolverState state = read_state(folder / "tiny_iter_8.solverstate");
  EXPECT_EQ(state.training().shard_history_size(), state.history_size());
  EXPECT_EQ(state.training().outer_velocity_size(), state.history_size());
}

TEST(LocalSteps, AreRefusedWhereTheyMakeNoSense) {
  Folder folder;
  const std::pair<const char*, const char*> cases[] = {
      {"local_steps: 2", "no effect with one shard"},
      {"local_steps: 2 shards: 1", "shards: 1 has no effect"},
      {"local_steps: 0 shards: 2", "at least 1"},
      {"outer_lr: 0.5 shards: 2", "outer_lr without local_steps"},
      {"outer_momentum: 0.5 shards: 2", "outer_momentum without local_steps"},
      {"local_steps: 2 shards: 2 outer_momentum: 1", "outer_momentum"},
      {"local_steps: 2 shards: 2 outer_lr: 0", "outer_lr must be positive"},
      {"local_steps: 2 shards: 2 snapshot_diff: true", "its own gradients"},
      {"local_steps: 2 shards: 2 larc: true larc_turbo: true", "its own rates"},
      {"local_steps: 2 shards: 2 lr_policy: \"plateau\" gamma: 0.5 plateau_winsize: 2", "plateau_metric"}};
  for (const auto& [options, expected] : cases) {
    std::string message;
    Context context(1);
    EXPECT_EQ(
        exit_code_of([&] { make_solver(tiny_solver(folder, std::string("\n") + options), {}, context); }, &message),
        ExitCode::kNet)
        << options;
    EXPECT_NE(message.find(expected), std::string::npos) << options << ": " << message;
    EXPECT_NE(message.find("solver.prototxt:2:"), std::string::npos) << options << ": " << message;
  }
}

}  // namespace
}  // namespace cortado
