#include "tools/runs/run_comparison.h"

#include <gtest/gtest.h>

#include "proto/cortado.pb.h"
#include "tools/runs/message_fields.h"
#include "tools/runs/run_list.h"

namespace cortado::runs {
namespace {

TEST(MessageFields, AreNamedByTheirPaths) {
  caffe::LayerParameter layer;
  layer.set_name("conv");
  layer.add_bottom("a");
  layer.add_bottom("b");
  layer.add_param()->set_lr_mult(1);
  layer.add_param()->set_lr_mult(2);
  layer.mutable_convolution_param()->set_num_output(20);
  std::string text;
  for (const FieldValue& field : fields_of(layer)) text += field.path + "=" + field.value + ";";
  EXPECT_EQ(text, "name=conv;bottom=a, b;param[0].lr_mult=1;param[1].lr_mult=2;convolution_param.num_output=20;");
}

TEST(MessageFields, OfASolverAreThoseThatAreNotDefaults) {
  caffe::SolverParameter solver;
  solver.set_base_lr(0.5F);
  solver.set_iter_size(1);  // the default
  solver.set_type("Adam");
  solver.set_net("runs/a/net.prototxt");
  solver.add_test_net("runs/a/test.prototxt");
  solver.set_snapshot_prefix("runs/a/snapshots/a");
  solver.mutable_net_param()->add_layer()->set_name("inside");
  std::string text;
  for (const ChangedSetting& one : changed_settings(solver))
    text += one.name + "=" + one.value + "|" + one.fallback + ";";
  EXPECT_EQ(text, "base_lr=0.5|;type=Adam|SGD;");
}

TEST(MessageFields, HaveDefaultsByPath) {
  const auto& layer = *caffe::LayerParameter::descriptor();
  EXPECT_EQ(default_text(layer, "param[3].lr_mult"), "1");
  EXPECT_EQ(default_text(layer, "convolution_param.weight_filler.type"), "constant");
  for (const char* path : {"bottom", "convolution_param", "convolution_param.nothing", "nothing.at.all", "name.x", ""})
    EXPECT_EQ(default_text(layer, path), "") << path;
}

TEST(RunComparison, CountsLayers) {
  EXPECT_EQ(summary_of({{"net", "a", "", {"ReLU", ""}},
                        {"net", "b", "", {"", "ReLU"}},
                        {"net", "c", "x", {"1", "2"}},
                        {"net", "c", "y", {"1", "2"}}}),
            "1 layer added, 1 removed, 1 changed");
}

/// Also for folders whose name is a part of what replaces it, or of another path.
TEST(RunComparison, LeavesOutTheFolderOfTheRun) {
  for (const std::string folder : {"RUN", "UN", "N", "R", "a", "runs/a", ".", "x y", "/tmp/RUN"}) {
    EXPECT_EQ(without_folder("net: \"" + folder + "/net.prototxt\" " + folder + "/" + folder + "/s", folder),
              "net: \"RUN/net.prototxt\" RUN/" + folder + "/s");
    EXPECT_EQ(without_folder("other" + folder + "/x /b/" + folder + "/x", folder),
              "other" + folder + "/x /b/" + folder + "/x");
    EXPECT_EQ(without_folder(folder, folder), folder);
  }
  EXPECT_EQ(without_folder("a/b", ""), "a/b");
}

RunSummary tested(const std::string& path, const std::string& score, double value) {
  RunSummary run;
  run.path = path;
  run.best.push_back({score, value, 10, score == "loss", true});
  return run;
}

TEST(BestRun, IsTheHighestScoreOrTheLowestLoss) {
  const std::vector<RunSummary> scored = {tested("a", "accuracy", 0.5), tested("b", "accuracy", 0.75),
                                          tested("c", "accuracy", NAN)};
  EXPECT_EQ(best_run(scored, "").run->path, "b");
  EXPECT_EQ(best_run(scored, "").runs, 2u);
  EXPECT_EQ(best_run(scored, "loss").run, nullptr);
  EXPECT_EQ(best_run({}, "").run, nullptr);
  EXPECT_EQ(best_run({tested("a", "loss", 0.5), tested("b", "loss", 0.75)}, "").best.value, 0.5);
}

TEST(BestRun, ComparesTheMainScoreOfMostRuns) {
  const std::vector<RunSummary> mixed = {tested("a", "f1", 0.9), tested("b", "accuracy", 0.5),
                                         tested("c", "accuracy", 0.6)};
  EXPECT_EQ(best_run(mixed, "").run->path, "c");
}

}  // namespace
}  // namespace cortado::runs
