#include "solvers/early_stop.h"

#include <cmath>

#include "core/error.h"
#include "solvers/score_direction.h"
#include "tests/solvers/training.h"

namespace cortado {
namespace {

std::vector<TestScore> score_list() {
  return {{.name = "accuracy"},
          {.name = "classes", .output = 1, .values = 3},
          {.name = "cost", .output = 4, .lower_is_better = true},
          {.name = "#1 accuracy", .net = 1}};
}

std::string message_of(const std::vector<TestScore>& scores, const std::string& name) {
  try {
    find_score(scores, name, "early_stop.metric");
  } catch (const FieldError& error) {
    EXPECT_EQ(error.field(), "early_stop.metric");
    return std::string(error.message()) + "; " + error.hint();
  }
  return "";
}

TEST(Metric, IsFoundByItsName) {
  const std::vector<TestScore> scores = score_list(), one = {{.name = "my_loss", .lower_is_better = true}};
  EXPECT_EQ(find_score(scores, "cost", "f").output, 4u) << "after the three of classes";
  EXPECT_EQ(find_score(scores, "#1 accuracy", "f").net, 1u);
  EXPECT_EQ(find_score(one, "", "f").name, "my_loss");
  EXPECT_NE(message_of(scores, "acuracy").find("'accuracy'"), std::string::npos);
  EXPECT_NE(message_of(scores, "").find("accuracy, cost"), std::string::npos);
  EXPECT_NE(message_of(scores, "classes").find("no test net has"), std::string::npos)
      << "three numbers are not a score";
}

TEST(EarlyStop, CountsTestsWithoutAGain) {
  caffe::EarlyStopParameter options;
  options.set_patience(2);
  options.set_min_delta(0.1f);
  EarlyStop stop(options, TestScore{.name = "accuracy"});
  EXPECT_FALSE(stop.see(std::nan(""))) << "which nothing would ever beat";
  EXPECT_TRUE(stop.see(0.5));
  EXPECT_FALSE(stop.see(0.55));
  EXPECT_TRUE(stop.see(0.65));
  EXPECT_FALSE(stop.see(0.7));
  EXPECT_FALSE(stop.is_over());
  caffe::TrainingState training;
  stop.save(training);
  EarlyStop again(options, TestScore{.name = "cost"});
  again.load(training);
  EXPECT_FALSE(again.see(0.74));
  EXPECT_TRUE(again.is_over());
}

/// Everything constant: no test is better than the first.
const char* const kStill = R"(
  layer { name: "data" type: "DummyData" top: "data" top: "target"
          dummy_data_param { shape { dim: 4 dim: 6 } shape { dim: 4 dim: 3 } data_filler { value: 1 }
              data_filler { value: 2 } } }
  layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
          inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
  layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "target" top: "loss" }
)";

TEST(EarlyStop, EndsTrainingWithASnapshot) {
  Folder folder, whole;
  const auto solver = [](const Folder& in, int patience) {
    return tiny_solver(
        in, "base_lr: 0 test_iter: 1 test_interval: 2 early_stop { patience: " + std::to_string(patience) + " }",
        kStill);
  };
  EXPECT_EQ(train(solver(folder, 3)), Outcome::kStoppedEarly);
  EXPECT_EQ(read_state(folder / "tiny_iter_6.solverstate").iter(), 6);
  EXPECT_FALSE(file_exists(folder / "tiny_iter_12.solverstate"));
  EXPECT_EQ(train(solver(folder, 3), "auto"), Outcome::kStoppedEarly) << "the same test again, the same end";
  EXPECT_FALSE(file_exists(folder / "tiny_iter_7.solverstate"));
  EXPECT_EQ(train(solver(folder, 9), "auto"), Outcome::kFinished);
  EXPECT_EQ(train(solver(whole, 9)), Outcome::kFinished);
  EXPECT_EQ(bytes_of(read_state(folder / "tiny_iter_12.solverstate")),
            bytes_of(read_state(whole / "tiny_iter_12.solverstate")));
}

TEST(EarlyStop, KeepsTheBestWeights) {
  Folder folder;
  EXPECT_EQ(
      train(tiny_solver(folder, "base_lr: 0.01 max_iter: 8 test_iter: 1 test_interval: 2 early_stop { }", kStill)),
      Outcome::kFinished);
  for (const int gain : {2, 4, 6, 8})
    EXPECT_TRUE(file_exists(folder / ("tiny_iter_" + std::to_string(gain) + ".caffemodel")));
}

TEST(EarlyStop, ScoresAreCheckedOnceTheNetsAreThere) {
  Folder folder;
  std::string message;
  const auto make = [&] {
    Context context(1);
    Solver solver = make_solver(
        tiny_solver(folder, "test_iter: 1 test_interval: 2\nearly_stop { metric: \"lss\" }", kStill), {}, context);
  };
  EXPECT_EQ(exit_code_of(make, &message), ExitCode::kNet);
  EXPECT_NE(message.find("solver.prototxt:2:"), std::string::npos) << message;
  EXPECT_NE(message.find("no test net has a score 'lss'"), std::string::npos) << message;
}

}  // namespace
}  // namespace cortado
