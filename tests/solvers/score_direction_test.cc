#include "solvers/score_direction.h"

#include <set>

#include "core/error.h"
#include "layers/registry.h"
#include "tests/solvers/training.h"

namespace cortado {
namespace {

NetOutput output_of(const std::string& name, const std::string& type = "InnerProduct", float loss_weight = 0) {
  return {name, 0, Shape{1}, loss_weight, type};
}

/// Layers that score predictions turn them into answers, or compare them with labels.
TEST(ScoreDirection, IsKnownOfAllLossesAndScores) {
  const std::set<std::string> answers = {"ArgMax",  "DetectionOutput",     "EvalDetection",        "LogSoftmax",
                                         "Softmax", "YoloDetectionOutput", "Yolov3DetectionOutput"};
  size_t losses = 0, scores = 0;
  for (const LayerType* type : all_layer_types()) {
    EXPECT_FALSE(type->loss && type->higher_is_better) << type->name;
    if (type->loss) {
      ++losses;
      EXPECT_TRUE(is_lower_better(output_of("accuracy", type->name))) << type->name;
    } else if (type->kind == LayerKind::kScore &&
               !answers.contains(type->alias_of.empty() ? type->name : type->alias_of)) {
      ++scores;
      EXPECT_FALSE(is_lower_better(output_of("error", type->name))) << type->name;
    } else {
      EXPECT_TRUE(is_lower_better(output_of("error", type->name))) << type->name;
      EXPECT_FALSE(is_lower_better(output_of("gain", type->name))) << type->name;
    }
  }
  EXPECT_GT(losses, 25u);
  EXPECT_GT(scores, 7u);
}

TEST(ScoreDirection, FollowsWhatTrainingMinimizes) {
  EXPECT_TRUE(is_lower_better(output_of("gain", "Reduction", 0.5f)));
  EXPECT_FALSE(is_lower_better(output_of("cost", "EuclideanLoss", -1)));
}

TEST(ScoreDirection, ReadsWordsOfNames) {
  for (const char* name : {"error",       "test_error", "top1_err",    "top5err",       "Err",           "mae",
                           "valMAE",      "MAE_test",   "RMSE",        "rmse/val",      "mse2",          "loss",
                           "loss3/loss1", "totalLoss",  "softmaxloss", "perplexity",    "edit_distance", "wer",
                           "CER",         "val-nll",    "mean.cost",   "cross_entropy", "KLDivergence"})
    EXPECT_TRUE(is_lower_better(std::string_view(name))) << name;
  for (const char* name : {"accuracy", "acc", "top5", "mAP", "iou", "f1", "merry", "terrain", "glossy", "answer",
                           "cerise", "maestro", "farmer", "psnr", "score", "", "_", "\xff"})
    EXPECT_FALSE(is_lower_better(std::string_view(name))) << name;
}

std::vector<TestScore> scores_with(const std::string& options, size_t nets = 1) {
  static const std::vector<NetOutput> outputs = {output_of("accuracy", "Accuracy"),
                                                 {"classes", 1, Shape{3}, 0, "Accuracy"},
                                                 output_of("loss", "SoftmaxWithLoss", 1),
                                                 output_of("mae", "L1Loss")};
  return test_scores(std::vector<const std::vector<NetOutput>*>(nets, &outputs),
                     read_solver_from_text("net: \"n\" " + options, "s").solver);
}

std::string directions(const std::vector<TestScore>& scores) {
  std::string text;
  for (const TestScore& score : scores) text += score.lower_is_better ? 'v' : '^';
  return text;
}

TEST(ScoreDirection, IsOverriddenByTheSolver) {
  EXPECT_EQ(directions(scores_with("")), "^^vv");
  EXPECT_EQ(directions(scores_with("lower_is_better: 'accuracy' higher_is_better: '#1 mae'", 2)), "v^vv^^v^");
  EXPECT_EQ(directions(scores_with("early_stop { metric: 'accuracy' higher_is_better: false }")), "v^vv");
  for (const char* wrong : {"lower_is_better: 'acuracy'", "lower_is_better: 'classes'", "higher_is_better: '#1 mae'",
                            "lower_is_better: 'mae' higher_is_better: 'mae'",
                            "higher_is_better: 'mae' early_stop { metric: 'mae' higher_is_better: false }"})
    EXPECT_THROW(scores_with(wrong), FieldError) << wrong;
}

std::string main_of(const std::vector<TestScore>& scores) {
  for (const TestScore& score : scores)
    if (score.is_main) return score.name;
  return "";
}

TEST(ScoreDirection, HasOneMainScore) {
  EXPECT_EQ(main_of(scores_with("")), "accuracy");
  EXPECT_EQ(main_of(scores_with("lower_is_better: 'accuracy'")), "accuracy") << "which training does not minimize";
  EXPECT_EQ(main_of(scores_with("keep_best: 'mae'")), "mae");
  EXPECT_EQ(main_of(scores_with("early_stop { metric: 'loss' }")), "loss");
  EXPECT_EQ(main_of(test_scores_by_name({"loss", "rmse"})), "rmse");
  EXPECT_EQ(main_of(test_scores_by_name({"loss"})), "loss");
}

}  // namespace
}  // namespace cortado
