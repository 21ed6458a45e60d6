// Iterations of shards: what one process makes of them, and that several make the same of them to the bit.

#include <cmath>
#include <map>

#include "tests/solvers/by_ranks.h"
#include "tests/solvers/dataset.h"
#include "tests/solvers/training.h"

namespace cortado {
namespace {

constexpr const char* kWeights = "tiny_iter_12.caffemodel";
constexpr const char* kState = "tiny_iter_12.solverstate";

constexpr const char* kNorm = R"(
            layer { name: "norm" type: "BatchNorm" bottom: "conv" top: "conv" }
            layer { name: "drop" type: "Dropout" bottom: "conv" top: "conv" })";

std::map<std::string, std::vector<float>> weights_in(const std::string& path) {
  caffe::NetParameter net;
  EXPECT_TRUE(net.ParseFromString(read_file(path)));
  std::map<std::string, std::vector<float>> weights;
  for (const caffe::LayerParameter& layer : net.layer())
    for (int i = 0; i < layer.blobs_size(); ++i)
      weights[layer.name() + std::to_string(i)] = {layer.blobs(i).data().begin(), layer.blobs(i).data().end()};
  return weights;
}

TEST(Shards, MakeTheUpdateOfOneLargeBatch) {
  for (const char* rule : {"type: \"SGD\" momentum: 0.9 weight_decay: 0.01 ", "type: \"Adam\" delta: 1e-3 "}) {
    Folder whole, parts;
    const std::string dataset = make_dataset(whole), options = std::string(rule) + "max_iter: 1 ";
    train(tiny_solver(whole, options, data_net(dataset, 12, "")));
    train(tiny_solver(parts, options + "shards: 4 ", data_net(dataset, 3, "")));
    const auto expected = weights_in(whole / "tiny_iter_1.caffemodel"),
               got = weights_in(parts / "tiny_iter_1.caffemodel");
    ASSERT_EQ(got.size(), 4u);
    for (const auto& [name, values] : expected) {
      float largest = 0;
      for (const float value : values) largest = std::max(largest, std::abs(value));
      for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(got.at(name)[i], values[i], 1e-5f * largest) << name;
    }
  }
}

/// Caffe's values: the mean of several solvers is clipped, and the sum over iter_size.
TEST(Shards, ClipTheMeanOfTheirGradients) {
  const auto weight = [](const std::string& options) {
    Folder folder;
    train(tiny_solver(folder, options + " clip_gradients: 4 base_lr: 1 max_iter: 1 ", kConstantNet));
    return weights_in(folder / "tiny_iter_1.caffemodel").at("ip0")[0];
  };
  for (const char* shards : {"shards: 1", "shards: 2", "shards: 4"}) {
    EXPECT_EQ(weight(shards), -3) << shards;
    EXPECT_EQ(weight(std::string(shards) + " iter_size: 2"), -2) << shards;
  }
}

TEST(Shards, OfTheSameDataUpdateAsOneOfThemDoes) {
  for_each_update([](const std::string& options) {
    std::vector<std::map<std::string, std::vector<float>>> weights;
    for (const char* shards : {"shards: 1", "shards: 2", "shards: 4"}) {
      Folder folder;
      train(tiny_solver(folder, options + shards, kConstantNet));
      weights.push_back(weights_in(folder / "tiny_iter_3.caffemodel"));
    }
    EXPECT_NE(weights[0].at("ip0")[0], 0);
    EXPECT_EQ(weights[1], weights[0]);
    EXPECT_EQ(weights[2], weights[0]);
  });
}

/// What a layer keeps by itself is the mean over the shards; what it does not change stays to the bit.
TEST(Shards, AverageTheStatisticsOfBatchNorms) {
  Folder folder;
  const std::string dataset = make_dataset(folder);
  std::vector<std::vector<float>> means;
  for (const char* options : {"shards: 3 max_iter: 1 ", "max_iter: 3 base_lr: 0 "}) {
    train(tiny_solver(folder, options, data_net(dataset, 4, kNorm)));
    const std::string name = folder / (options[0] == 's' ? "tiny_iter_1.caffemodel" : "tiny_iter_3.caffemodel");
    const auto weights = weights_in(name);
    std::vector<float> mean = weights.at("norm0");
    for (float& value : mean) value /= weights.at("norm2")[0];  // its correction
    means.push_back(mean);
    EXPECT_NEAR(weights.at("norm2")[0], options[0] == 's' ? 1 : 1 + 0.999 + 0.999 * 0.999, 1e-5);
  }
  // Three batches one after the other are averaged with nearly the same shares.
  for (size_t i = 0; i < means[0].size(); ++i) EXPECT_NEAR(means[0][i], means[1][i], 2e-3);

  const std::string frozen = std::string(kNorm) + " ";
  std::string still = data_net(dataset, 4, frozen);
  still.replace(still.find("type: \"BatchNorm\""), 17,
                "type: \"BatchNorm\" batch_norm_param { use_global_stats: true }");
  train(tiny_solver(folder, "shards: 3 ", still), "", -1);
  EXPECT_EQ(weights_in(folder / kWeights).at("norm2"), std::vector<float>{0});
}

struct RankCase {
  const char *name, *options;
  bool data;
};

class ShardsByRanks : public ::testing::TestWithParam<RankCase> {};

TEST_P(ShardsByRanks, GiveTheBitsOfOneProcess) {
  const RankCase& wanted = GetParam();
  Folder data, alone;
  const std::string net = wanted.data ? data_net(make_dataset(data), 3, kNorm) : kNet;
  const std::string options = std::string(wanted.options) + " shards: 4 ";
  EXPECT_EQ(train(tiny_solver(alone, options, net)), Outcome::kFinished);
  for (int ranks = 1; ranks <= 4; ++ranks) {
    SCOPED_TRACE(std::to_string(ranks) + " ranks");
    Folder folder;
    expect_no_errors(train_by(ranks, [&] { return tiny_solver(folder, options, net); }));
    EXPECT_TRUE(read_file(folder / kWeights) == read_file(alone / kWeights));
    EXPECT_TRUE(bytes_of(read_state(folder / kState)) == bytes_of(read_state(alone / kState)));
  }
}

TEST_P(ShardsByRanks, GoOnByOtherNumbersOfRanks) {
  const RankCase& wanted = GetParam();
  Folder data, alone;
  const std::string net = wanted.data ? data_net(make_dataset(data), 3, kNorm) : kNet;
  const std::string options = std::string(wanted.options) + " ";
  train(tiny_solver(alone, options + "shards: 4 ", net));
  Folder folder;
  expect_no_errors(train_by(
      4, [&] { return tiny_solver(folder, options, net); }, "", 3));
  EXPECT_EQ(read_state(folder / "tiny_iter_3.solverstate").training().shards(), 4);
  expect_no_errors(train_by(
      3, [&] { return tiny_solver(folder, options, net); }, "auto", 6));
  train(tiny_solver(folder, options, net), "auto", 8);
  expect_no_errors(train_by(
      2, [&] { return tiny_solver(folder, options, net); }, "auto"));
  EXPECT_TRUE(read_file(folder / kWeights) == read_file(alone / kWeights));
  EXPECT_TRUE(bytes_of(read_state(folder / kState)) == bytes_of(read_state(alone / kState)));
}

INSTANTIATE_TEST_SUITE_P(
    All, ShardsByRanks,
    ::testing::Values(
        RankCase{"Momentum", "momentum: 0.9 weight_decay: 0.01", false},
        RankCase{"Adam", "type: \"Adam\" momentum: 0.9", false},
        RankCase{"Clipped", "momentum: 0.9 clip_gradients: 0.05", false},
        RankCase{"IterSize", "momentum: 0.9 iter_size: 2", false}, RankCase{"Data", "momentum: 0.9 iter_size: 2", true},
        RankCase{"Average", "ema_decay: 0.9 test_iter: 2 test_interval: 3", true},
        RankCase{"EarlyStop", "early_stop { metric: \"accuracy\" patience: 9 } test_iter: 2 test_interval: 2", true},
        RankCase{"Plateau",
                 "lr_policy: \"plateau\" gamma: 0.5 plateau_winsize: 2 plateau_metric: \"accuracy\" test_iter: 2 "
                 "test_interval: 1",
                 true}),
    [](const auto& info) { return std::string(info.param.name); });

/// Each of three ranks has a third of the history, to a cache line for each part of the gradients.
TEST(Shards, ShareTheHistoryAmongRanks) {
  Folder folder;
  const SolverConfig config = parse_solver(tiny_solver(folder, "type: \"Adam\" shards: 3 "));
  Context context(1);
  SolverNets nets = make_solver_nets(config, {}, context);
  const WeightUpdate whole(config.iteration, *nets.train);
  int64_t sum = 0;
  for (const std::vector<ranks::FloatRange>& slices : slices_of_ranks(*nets.train, 3)) {
    const WeightUpdate part(config.iteration, *nets.train, slices);
    EXPECT_TRUE(part.is_sliced());
    EXPECT_LE(part.bytes(), whole.bytes() / 3 + 2 * 64);
    sum += part.bytes();
  }
  EXPECT_LE(sum, whole.bytes());
  for (const char* options : {"clip_gradients: 1 ", "larc: true ", "snapshot_diff: true ", "type: \"LAMB\" "})
    EXPECT_FALSE(parse_solver(tiny_solver(folder, options)).iteration.updates_by_slices(context)) << options;
}

/// What the first of two ranks says of a solver that it refuses, with this exit code.
std::string refusal_of_two(const SolverFile& file, ExitCode code) {
  std::string message;
  ThreadRanks(2).run([&](ranks::Engine& engine) {
    if (engine.rank() > 0) return;
    Context context(1);
    SolverOptions options;
    options.engine = &engine;
    EXPECT_EQ(exit_code_of([&] { make_solver(file, options, context); }, &message), code);
  });
  return message;
}

TEST(Shards, AreNoFewerThanRanks) {
  Folder folder;
  const auto errors = train_by(1, [&] { return tiny_solver(folder, "shards: 1 "); });
  expect_no_errors(errors);
  const std::string message = refusal_of_two(tiny_solver(folder, "shards: 1 "), ExitCode::kUsage);
  EXPECT_NE(message.find("2 ranks for 1 shard"), std::string::npos) << message;
}

TEST(Shards, DivergeOnAllRanksAtOnce) {
  Folder folder;
  for (const std::exception_ptr& error : train_by(3, [&] { return tiny_solver(folder, "base_lr: 1e20 "); }))
    EXPECT_EQ(exit_code_of([&] {
                if (error) std::rethrow_exception(error);
              }),
              ExitCode::kDiverged);
}

TEST(Shards, AreRefusedWhereAllWouldWriteOneFile) {
  Folder folder;
  const std::string net = std::string(kNet) +
                          "layer { name: \"out\" type: \"HDF5Output\" bottom: \"learned\" bottom: "
                          "\"target\" hdf5_output_param { file_name: \"" +
                          folder / "out.h5" + "\" } }";
  const std::string message = refusal_of_two(tiny_solver(folder, "", net), ExitCode::kNet);
  EXPECT_NE(message.find("the same file"), std::string::npos) << message;
}

/// The class need not be there: its batches would be the same on every rank.
TEST(Shards, AreRefusedWherePythonMakesTheBatches) {
  Folder folder;
  std::string net = kNet;
  const size_t begin = net.find("type: \"DummyData\""), end = net.find("layer { name: \"frozen\"");
  net.replace(begin, end - begin,
              "type: \"Python\" top: \"data\" top: \"target\" python_param { module: \"m\" layer: \"L\" } }\n");
  const std::string message = refusal_of_two(tiny_solver(folder, "", net), ExitCode::kNet);
  EXPECT_NE(message.find("cannot be split"), std::string::npos) << message;
}

/// For any engine of shards: each shard would have separate statistics.
TEST(Shards, AreRefusedWhereALayerWantsTheWholeBatch) {
  Folder folder;
  const std::string dataset = make_dataset(folder);
  const std::string norm = R"(
            layer { name: "norm" type: "SyncBN" bottom: "conv" top: "conv" bn_param { frozen: false } })";
  const auto run = [&](const char* options) {
    std::string message;
    const ExitCode code =
        exit_code_of([&] { train(tiny_solver(folder, options, data_net(dataset, 4, norm))); }, &message);
    return std::pair(code, message);
  };
  EXPECT_EQ(run("max_iter: 1 ").first, ExitCode::kOk);
  const auto [code, message] = run("shards: 3 max_iter: 1 ");
  EXPECT_EQ(code, ExitCode::kNet);
  EXPECT_NE(message.find("'norm' (SyncBN) computes statistics of a whole batch"), std::string::npos) << message;
}

}  // namespace
}  // namespace cortado
