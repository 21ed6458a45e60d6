// Iterations of shards on devices: the updates of the CPU's, and the same bits by every number of ranks. On the
// simulated device, and on a GPU where CORTADO_TEST_GPU names one.

#include "proto/weights/weights_file.h"
#include "tests/solvers/by_ranks.h"
#include "tests/solvers/dataset.h"

namespace cortado {
namespace {

constexpr const char* kWeights = "tiny_iter_12.caffemodel";
constexpr const char* kState = "tiny_iter_12.solverstate";

/// 0: without an engine.
void train_on_device(int ranks, const std::function<SolverFile()>& file, RankRun run = {}) {
  run.device = device_of_tests();
  train_as(ranks, file, run);
}

constexpr const char* kBatchNorm = R"(
            layer { name: "norm" type: "BatchNorm" bottom: "conv" top: "conv" })";
constexpr const char* kDrop = R"(
            layer { name: "drop" type: "Dropout" bottom: "conv" top: "conv" })";

/// With a BatchNorm, which keeps statistics, and `more`.
std::string norm_net(const std::string& dataset, const std::string& more = kDrop) {
  return data_net(dataset, 4, kBatchNorm + more);
}

void expect_same_files(const Folder& got, const Folder& expected) {
  EXPECT_TRUE(read_file(got / kWeights) == read_file(expected / kWeights));
  EXPECT_TRUE(bytes_of(read_state(got / kState)) == bytes_of(read_state(expected / kState)));
}

struct Case {
  const char *name, *options;
  bool data = false;
  Precision precision = Precision::kFp32;
};

class DeviceShardsByRanks : public ::testing::TestWithParam<Case> {
 protected:
  std::string net() { return GetParam().data ? norm_net(make_dataset(data_)) : kNet; }

 private:
  Folder data_;
};

TEST_P(DeviceShardsByRanks, GiveTheBitsOfOneProcess) {
  const std::string net = this->net(), options = std::string(GetParam().options) + " shards: 4 ";
  Folder alone;
  train_on_device(0, [&] { return tiny_solver(alone, options, net); }, {.precision = GetParam().precision});
  for (int ranks = 1; ranks <= 4; ++ranks) {
    SCOPED_TRACE(std::to_string(ranks) + " ranks");
    Folder folder;
    train_on_device(ranks, [&] { return tiny_solver(folder, options, net); }, {.precision = GetParam().precision});
    expect_same_files(folder, alone);
  }
}

TEST_P(DeviceShardsByRanks, GoOnByOtherNumbersOfRanks) {
  const std::string net = this->net(), options = std::string(GetParam().options) + " ";
  Folder alone, folder;
  train_on_device(0, [&] { return tiny_solver(alone, options + "shards: 4 ", net); },
                  {.precision = GetParam().precision});
  train_in_turn(folder, [&] { return tiny_solver(folder, options, net); },
                {.precision = GetParam().precision, .device = device_of_tests()});
  expect_same_files(folder, alone);
}

INSTANTIATE_TEST_SUITE_P(
    All, DeviceShardsByRanks,
    ::testing::Values(Case{"Momentum", "momentum: 0.9 weight_decay: 0.01"},
                      Case{"Adam", "type: \"Adam\" momentum: 0.9"},
                      Case{"Clipped", "momentum: 0.9 clip_gradients: 0.05"},
                      Case{"IterSize", "momentum: 0.9 iter_size: 2"}, Case{"Data", "momentum: 0.9 iter_size: 2", true},
                      Case{"Average", "ema_decay: 0.9 test_iter: 2 test_interval: 3", true},
                      Case{"RateByLoss",
                           "lr_policy: \"plateau\" gamma: 0.5 plateau_winsize: 2 momentum: 0.9 test_iter: 2 "
                           "test_interval: 1",
                           true},
                      Case{"Fp16", "momentum: 0.9", true, Precision::kFp16},
                      Case{"Bf16", "type: \"Adam\"", true, Precision::kBf16}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(DeviceShards, OfTheSameDataUpdateAsOneOfThemDoes) {
  for_each_update([](const std::string& options) {
    const auto weights = [&](const char* shards, int ranks) {
      Folder folder;
      train_on_device(ranks, [&] { return tiny_solver(folder, options + shards, kConstantNet); });
      return read_weights(folder / "tiny_iter_3.caffemodel").at(0).blobs.at(0).data[0];
    };
    const float one = weights("shards: 1", 0);
    EXPECT_NE(one, 0);
    EXPECT_EQ(weights("shards: 2", 0), one);
    EXPECT_EQ(weights("shards: 4", 0), one);
    EXPECT_EQ(weights("shards: 4", 2), one);
  });
}

/// With Dropout where both devices store values alike.
TEST(DeviceShards, LearnWhatTheCpusLearn) {
  Folder data, cpu, device;
  for (const std::string& net : {norm_net(make_dataset(data), ""), std::string(kNet)}) {
    const std::string options = "momentum: 0.9 shards: 3 iter_size: 2 ";
    train(tiny_solver(cpu, options, net));
    train_on_device(2, [&] { return tiny_solver(device, options, net); });
    const std::vector<LayerWeights> expected = read_weights(cpu / kWeights), got = read_weights(device / kWeights);
    ASSERT_EQ(got.size(), expected.size());
    for (size_t layer = 0; layer < got.size(); ++layer)
      for (size_t blob = 0; blob < got[layer].blobs.size(); ++blob)
        for (size_t i = 0; i < got[layer].blobs[blob].data.size(); ++i)
          EXPECT_NEAR(got[layer].blobs[blob].data[i], expected[layer].blobs[blob].data[i], 2e-4) << got[layer].name;
  }
}

/// Passes are recorded as graphs but the last one of ranks, which sends gradients meanwhile.
TEST(DeviceShards, RecordedPassesLearnWhatEagerOnesLearn) {
  Folder data, recorded, eager;
  const std::string net = norm_net(make_dataset(data)), options = "momentum: 0.9 shards: 4 iter_size: 2 ";
  train_on_device(2, [&] { return tiny_solver(recorded, options, net); });
  train_on_device(2, [&] { return tiny_solver(eager, options, net); }, {.captures = false});
  expect_same_files(recorded, eager);
}

/// A BatchNorm whose averages move in tests: the first rank alone runs them, and the others hear what came of it.
TEST(DeviceShards, AgreeAfterTestsOfOneRank) {
  Folder data, alone, folder;
  std::string net = norm_net(make_dataset(data));
  net.insert(net.find("type: \"BatchNorm\""), "batch_norm_param { use_global_stats: false } ");
  const std::string options = "momentum: 0.9 shards: 4 test_iter: 2 test_interval: 5 ";
  train_on_device(0, [&] { return tiny_solver(alone, options, net); });
  train_on_device(3, [&] { return tiny_solver(folder, options, net); });
  expect_same_files(folder, alone);
}

TEST(DeviceShards, DivergeOnAllRanksAtOnce) {
  Folder folder;
  const auto errors = ThreadRanks(3).run([&](ranks::Engine& engine) {
    train_rank(&engine, tiny_solver(folder, "base_lr: 1e20 "), {.device = device_of_tests()});
  });
  for (const std::exception_ptr& error : errors)
    EXPECT_EQ(exit_code_of([&] {
                if (error) std::rethrow_exception(error);
              }),
              ExitCode::kDiverged);
}

}  // namespace
}  // namespace cortado
