// Lengths in epochs: scores of exactly the whole set, and training that counts records.

#include "net/epoch.h"

#include "tests/solvers/dataset.h"
#include "tests/solvers/training.h"

namespace cortado {
namespace {

std::string data_layer(const char* phase, int batch, const std::string& dataset, const std::string& more = {}) {
  return std::string("layer { name: \"data\" type: \"Data\" top: \"data\" top: \"label\" include { phase: ") + phase +
         " } transform_param { scale: 0.01 } data_param { batch_size: " + std::to_string(batch) + " source: \"" +
         dataset + "\" backend: LMDB " + more + " } } ";
}

/// `more`: of the test's data_param.
std::string net_of(const std::string& dataset, int test_batch, const std::string& more = {}) {
  return data_layer("TRAIN", 5, dataset) + data_layer("TEST", test_batch, dataset, more) + R"(
    layer { name: "norm" type: "BatchNorm" bottom: "data" top: "norm" }
    layer { name: "score" type: "InnerProduct" bottom: "norm" top: "score"
            inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
    layer { name: "accuracy" type: "Accuracy" bottom: "score" bottom: "label" top: "accuracy" top: "classes"
            include { phase: TEST } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "score" bottom: "label" top: "loss" })";
}

/// The scores of two tests in a row after three iterations, and the loss.
std::vector<double> scores_of(const Folder& folder, const std::string& options, const std::string& net,
                              const Device& device = {}) {
  Context context({.device = device});
  Solver solver =
      make_solver(tiny_solver(folder, "test_interval: 100 test_initialization: false " + options, net), {}, context);
  solver.step(3);
  std::vector<double> all;
  for (int round = 0; round < 2; ++round) {
    solver.test();
    for (const Score& score : solver.testers()[0].scores()) all.push_back(score.value);
    all.push_back(solver.testers()[0].loss());
  }
  return all;
}

TEST(Epoch, ScoresAreThoseOfTheWholeSet) {
  Folder folder;
  const std::string dataset = make_dataset(folder);
  const std::vector<double> expected = scores_of(folder, "test_iter: 1", net_of(dataset, 23));
  ASSERT_EQ(expected.size(), 12u);  // twice: accuracy, 3 classes, loss, the net's loss
  for (const Device device : {Device{}, Device{DeviceKind::kSimulated, 0}})
    for (const int batch : {1, 4, 7, 22, 23, 24, 100})
      for (const char* more : {"", "shuffle: true", "rand_skip: 7"}) {
        const std::vector<double> scores = scores_of(folder, "test_epoch: true", net_of(dataset, batch, more), device);
        ASSERT_EQ(scores.size(), expected.size());
        for (size_t k = 0; k < expected.size(); ++k)
          EXPECT_NEAR(scores[k], expected[k], 2e-6) << "batch " << batch << ", score " << k;
      }
  EXPECT_GT(std::abs(scores_of(folder, "test_iter: 6", net_of(dataset, 4))[4] - expected[4]), 1e-5)
      << "24 samples are not the set";
  const std::vector<double> means = scores_of(folder, "test_iter: 23", net_of(dataset, 1));
  EXPECT_NEAR(means[0], expected[0], 2e-6);
  EXPECT_LT(means[1] + means[2] + means[3], 0.6 * (expected[1] + expected[2] + expected[3]))
      << "test_iter is Caffe's: a batch without the class counts as 0";
}

TEST(Epoch, TrainingCountsRecords) {
  Folder folder;
  const std::string net = net_of(make_dataset(folder), 4);
  const std::string options = "base_lr: 0.01 lr_policy: \"poly\" power: 1 max_epoch: 3 iter_size: 2 ";
  Context context(1);
  Solver solver = make_solver(read_solver_from_text(options + "random_seed: 5 snapshot_prefix: \"" + folder / "tiny" +
                                                        "\" net_param: {" + net + "}",
                                                    folder / "s.prototxt"),
                              {}, context);
  Requests requests{kRequestNothing};
  EXPECT_EQ(solver.run(requests), Outcome::kFinished);
  EXPECT_EQ(solver.iter(), 7) << "69 records, ten in an iteration";
  EXPECT_FLOAT_EQ(solver.progress().rate, 0.01f / 7) << "the schedule knows the end";
}

TEST(Epoch, ResumesExactly) {
  Folder data, whole, halves;
  const std::string net = net_of(make_dataset(data), 4);
  const auto solver = [&](const Folder& folder) {
    return tiny_solver(folder, "test_epoch: true test_interval: 2 max_iter: 6", net);
  };
  train(solver(whole));
  train(solver(halves), "", 4);
  train(solver(halves), "auto");
  EXPECT_TRUE(read_file(halves / "tiny_iter_6.caffemodel") == read_file(whole / "tiny_iter_6.caffemodel"));
  EXPECT_TRUE(bytes_of(read_state(halves / "tiny_iter_6.solverstate")) ==
              bytes_of(read_state(whole / "tiny_iter_6.solverstate")));
}

std::string mistake_in(const Folder& folder, const std::string& options, const std::string& net) {
  std::string message;
  const auto make = [&] {
    Context context(1);
    Solver solver = make_solver(tiny_solver(folder, options, net), {}, context);
  };
  EXPECT_EQ(exit_code_of(make, &message), ExitCode::kNet);
  return message;
}

TEST(Epoch, SaysWhereNothingCanBeCounted) {
  Folder folder;
  const std::string none = mistake_in(folder, "\ntest_epoch: true test_interval: 2", kNet);
  EXPECT_NE(none.find("solver.prototxt:2:"), std::string::npos) << none;
  EXPECT_NE(none.find("no layer that reads a dataset"), std::string::npos) << none;
  const std::string loose =
      net_of(make_dataset(folder), 4) +
      " layer { name: \"soft\" type: \"Softmax\" bottom: \"score\" top: \"soft\" include { phase: TEST } }";
  const std::string per_sample = mistake_in(folder, "test_epoch: true test_interval: 2", loose);
  EXPECT_NE(per_sample.find("output 'soft' has values for each sample"), std::string::npos) << per_sample;
}

TEST(StartingWeights, AreListsAndLieBesideTheSolver) {
  Folder folder;
  for (const char* name : {"a.caffemodel", "b.caffemodel", "c.caffemodel"}) write_file_atomically(folder / name, "");
  const SolverFile file = tiny_solver(folder, "weights: \"a.caffemodel, b.caffemodel\"\nweights: \"c.caffemodel\"");
  EXPECT_EQ(starting_weights(file, {}),
            (std::vector<std::string>{folder / "a.caffemodel", folder / "b.caffemodel", folder / "c.caffemodel"}));
  SolverOptions options;
  options.weights = {"x,y"};
  EXPECT_EQ(starting_weights(file, options), (std::vector<std::string>{"x", "y"}))
      << "the command line's replace the file's";
  std::string message;
  const SolverFile missing = tiny_solver(folder, "weights: \"a.caffemodel\"\nweights: \"d.caffemodel\"");
  EXPECT_EQ(exit_code_of([&] { starting_weights(missing, {}); }, &message), ExitCode::kIo);
  EXPECT_NE(message.find("solver.prototxt:2:"), std::string::npos) << message;
}

/// A snapshot brings its own; the solver's, which may be gone by then, are not looked at.
TEST(StartingWeights, AreNotReadOnAResume) {
  Folder folder;
  train(tiny_solver(folder), "", 4);
  EXPECT_EQ(train(tiny_solver(folder, "weights: \"gone.caffemodel\""), "auto"), Outcome::kFinished);
}

}  // namespace
}  // namespace cortado
