// Tests whose batches several ranks share: scores, what follows from them and snapshots have the bits of one process.

#include <mutex>

#include "solvers/rank_test.h"
#include "tests/solvers/by_ranks.h"
#include "tests/solvers/dataset.h"
#include "tests/solvers/training.h"

namespace cortado {
namespace {

/// Every score of every test, in order.
struct ScoreList : TrainObserver {
  std::vector<double> values;
  int64_t last = -1;  ///< iterations done at the last of them
  void on_test(const Progress& progress, int net, const std::vector<Score>& scores,
               const std::vector<BestTestScore>&) override {
    last = progress.iter;
    values.push_back(double(progress.iter));
    values.push_back(net);
    for (const Score& score : scores) values.push_back(score.value);
  }
};

struct Trained {
  std::vector<double> scores;
  int64_t last_test = 0;
  std::string weights, state;
  bool operator==(const Trained&) const = default;
};

/// What a training left: its newest snapshot.
Trained read_trained(const Folder& folder, const ScoreList& scores) {
  for (int iter = 30; iter > 0; --iter) {
    const std::string name = folder / ("tiny_iter_" + std::to_string(iter));
    if (!file_exists(name + ".solverstate")) continue;
    return {scores.values, scores.last, read_file(name + ".caffemodel"), bytes_of(read_state(name + ".solverstate"))};
  }
  return {};
}

Trained train_alone(const std::string& options, const std::string& net) {
  Folder folder;
  Context context(1);
  Solver solver = make_solver(tiny_solver(folder, options, net), {}, context);
  ScoreList scores;
  solver.add_observer(&scores);
  Requests requests{kRequestNothing};
  solver.run(requests);
  return read_trained(folder, scores);
}

Trained train_together(int ranks, const std::string& options, const std::string& net) {
  Folder folder;
  ScoreList scores;
  expect_no_errors(train_by_ranks(
      ranks, [&] { return tiny_solver(folder, options, net); }, "",
      [&](int rank, Requests&, Solver& solver) {
        if (rank == 0) solver.add_observer(&scores);
      }));
  return read_trained(folder, scores);
}

constexpr const char* kClasses = R"(
    layer { name: "classes" type: "Accuracy" bottom: "score" bottom: "label" top: "of_all" top: "of_class"
            include { phase: TEST } })";

struct TestCase {
  const char *name, *options;
  bool stops = false;
};

class DealtOutTests : public ::testing::TestWithParam<TestCase> {};

TEST_P(DealtOutTests, ScoreAsOneProcessDoes) {
  const TestCase& wanted = GetParam();
  Folder data;
  const std::string net = data_net(make_dataset(data), 3, "") + kClasses;
  const std::string options = std::string(wanted.options) + " momentum: 0.9 shards: 4 max_iter: 9 ";
  const Trained alone = train_alone(options, net);
  ASSERT_GT(alone.scores.size(), 8u);
  EXPECT_EQ(alone.last_test < 9, wanted.stops);
  for (int ranks = 1; ranks <= 4; ++ranks) {
    SCOPED_TRACE(std::to_string(ranks) + " ranks");
    const Trained together = train_together(ranks, options, net);
    EXPECT_EQ(together.scores, alone.scores);
    EXPECT_TRUE(together == alone);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, DealtOutTests,
    ::testing::Values(
        TestCase{"Even", "test_iter: 4 test_interval: 3"},
        TestCase{"Uneven", "test_iter: 7 test_interval: 3 snapshot: 5"},
        TestCase{"Long", "test_iter: 101 test_interval: 3"},
        TestCase{"FewerThanRanks", "test_iter: 2 test_interval: 1"},
        TestCase{"TwoNets", "test_iter: 5 test_iter: 3 test_interval: 3"},
        TestCase{"OneOfTwoIsEmpty", "test_iter: 0 test_iter: 3 test_interval: 3"},
        TestCase{"Epoch", "test_epoch: true test_interval: 3"},
        TestCase{"Average", "ema_decay: 0.9 test_iter: 5 test_interval: 3"},
        TestCase{"EarlyStop",
                 "early_stop { metric: \"accuracy\" patience: 1 min_delta: 2 } test_iter: 5 test_interval: 2", true},
        TestCase{"Plateau",
                 "lr_policy: \"plateau\" gamma: 0.5 plateau_winsize: 2 plateau_metric: \"accuracy\" "
                 "test_iter: 5 test_interval: 1"}),
    [](const auto& info) { return std::string(info.param.name); });

/// Asked during a test: its first batches are lost on every rank, and a resume runs it from its beginning.
class StopAtBatch : public TrainObserver {
 public:
  StopAtBatch(std::vector<Requests*>& requests, int whom) : requests_(requests), whom_(whom) {}
  void on_test_batch(const Progress& progress, int, int done, int) override {
    if (progress.iter == 6 && done > 0) requests_[size_t(whom_)]->fetch_or(kRequestStop | kRequestSnapshot);
  }

 private:
  std::vector<Requests*>& requests_;
  int whom_;
};

TEST(DealtOutTests, EndWhenAnyRankIsAskedTo) {
  Folder data;
  const std::string net = data_net(make_dataset(data), 3, ""),
                    options = "momentum: 0.9 shards: 4 test_iter: 11 test_interval: 3 max_iter: 9 ";
  const Trained alone = train_alone(options, net);
  for (int whom = 0; whom < 3; ++whom) {
    Folder folder;
    const auto file = [&] { return tiny_solver(folder, options, net); };
    std::vector<Requests*> requests(3);
    StopAtBatch stopper(requests, whom);
    ScoreList scores;
    expect_no_errors(train_by_ranks(3, file, "", [&](int rank, Requests& own, Solver& solver) {
      requests[size_t(rank)] = &own;
      if (rank == 0) solver.add_observer(&stopper), solver.add_observer(&scores);
    }));
    EXPECT_EQ(scores.values.size(), 2u * 4) << "the tests of iterations 0 and 3";
    EXPECT_TRUE(file_exists(folder / "tiny_iter_6.solverstate"));
    expect_no_errors(train_by_ranks(2, file, "auto", [&](int rank, Requests&, Solver& solver) {
      if (rank == 0) solver.add_observer(&scores);
    }));
    EXPECT_TRUE(read_trained(folder, scores) == alone) << "rank " << whom << " was asked";
  }
}

/// Layers that only the test net has: the others get what the first rank has of them.
TEST(DealtOutTests, KnowTheWeightsOfTestNetsAlone) {
  Folder data;
  const std::string more = R"(
    layer { name: "own" type: "InnerProduct" bottom: "score" top: "own" include { phase: TEST }
            inner_product_param { num_output: 1 weight_filler { type: "gaussian" std: 1 } } }
    layer { name: "mean" type: "Reduction" bottom: "own" top: "mean" include { phase: TEST } })";
  const std::string net = data_net(make_dataset(data), 3, "") + more,
                    options = "momentum: 0.9 shards: 2 test_iter: 3 test_interval: 3 max_iter: 3 ";
  EXPECT_TRUE(train_together(2, options, net) == train_alone(options, net));
}

std::string with_memory(std::string net, const std::string& options) {
  const std::string norm = "type: \"BatchNorm\"";
  return net.replace(net.find(norm), norm.size(), norm + " batch_norm_param { " + options + " }");
}

/// Statistics that each batch of a test moves are one process's to keep.
TEST(DealtOutTests, StayWithTheFirstRankWhereALayerRemembers) {
  Folder data;
  const std::string plain =
      data_net(make_dataset(data), 3, " layer { name: \"norm\" type: \"BatchNorm\" bottom: \"conv\" top: \"conv\" }");
  const std::string moving = with_memory(plain, "use_global_stats: false"),
                    options = "momentum: 0.9 shards: 2 test_iter: 3 test_interval: 3 max_iter: 3 ";
  const auto why = [&](const std::string& net) {
    graph::BuildOptions build;
    build.state.set_phase(caffe::TEST);
    build.backward = build.open_data = false;
    const SolverFile file = tiny_solver(data, "", net);
    return why_not_dealt_out(graph::build(
        std::make_shared<const NetFile>(NetFile{file.solver.net_param(), file.positions.below("net_param")}), build));
  };
  EXPECT_EQ(why(plain), "");
  EXPECT_EQ(why(moving), "layer 'norm' (BatchNorm) needs all batches in order");
  EXPECT_NE(why(plain + R"(layer { name: "out" type: "HDF5Output" bottom: "score" bottom: "label"
                                    hdf5_output_param { file_name: "never" } })")
                .find("'out' (HDF5Output)"),
            std::string::npos);
  EXPECT_NE(why(plain + R"(layer { name: "own" type: "Python" bottom: "score" top: "own"
                                    python_param { module: "m" layer: "L" } })")
                .find("'own' (Python)"),
            std::string::npos);
  for (const std::string& net : {plain, moving})
    EXPECT_TRUE(train_together(2, options, net) == train_alone(options, net));
  const std::vector<std::string> lines = logged([&] { train_together(2, options, moving); });
  EXPECT_EQ(
      std::count(lines.begin(), lines.end(),
                 "The first rank tests alone: of test net #0 layer 'norm' (BatchNorm) needs all batches in order"),
      2)
      << "each rank says it once; commands let only the first one speak";
}

}  // namespace
}  // namespace cortado
