#include <cmath>
#include <regex>

#include "tests/solvers/training.h"
#include "tools/runs/metrics_file.h"
#include "tools/runs/metrics_writer.h"

namespace cortado::runs {
namespace {

std::vector<std::string> events(const std::vector<MetricRow>& rows) {
  std::vector<std::string> out;
  for (const MetricRow& row : rows) out.push_back(row.event + " " + std::to_string(row.iter));
  return out;
}

void train_with_metrics(const Folder& folder, const std::string& path, const std::string& snapshot, int64_t stop_at) {
  MetricsWriter metrics(path);
  Context context(1);
  SolverOptions options;
  options.snapshot = snapshot;
  Solver solver =
      make_solver(tiny_solver(folder, "display: 3 snapshot: 4 test_iter: 1 test_interval: 6"), options, context);
  solver.add_observer(&metrics);
  Requests requests{kRequestNothing};
  AfterIteration stopper([&](const Progress& progress) {
    if (progress.iter == stop_at) requests.fetch_or(kRequestStop);
  });
  solver.add_observer(&stopper);
  solver.run(requests);
}

TEST(Metrics, AreAppendedAsLines) {
  Folder folder;
  const std::string path = folder / "metrics.jsonl";
  write_file_atomically(path, "{\"torn\":");
  train_with_metrics(folder, path, "", -1);
  std::istringstream text(read_file(path));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  const std::string head = R"(\{"t":[0-9.]+,"ev":")", number = "[0-9.e+-]+";
  const std::vector<std::string> expected = {
      "\\{\"torn\":",
      head + R"(run_start","iter":0,"schema":1,"max_iter":12,"scores":\[)" +
          R"(\{"name":"loss","best":"lowest","main":true\}\]\})",
      head + R"(test","iter":0,"net":0,"outputs":\{"loss":)" + number + R"(\},"best":\{\}\})",
      head + R"(train","iter":0,"loss":)" + number + R"(,"lr":[0-9.]+,"rss":[0-9]+,"outputs":\{"loss":)" + number +
          R"(\}\})"};
  ASSERT_GT(lines.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_TRUE(std::regex_match(lines[i], std::regex(expected[i]))) << lines[i];
  EXPECT_TRUE(std::regex_match(lines.back(), std::regex(head + R"(run_end","iter":12,.*\})")));
}

TEST(Metrics, SkipRepeatedIterations) {
  Folder folder;
  const std::string path = folder / "metrics.jsonl";
  train_with_metrics(folder, path, "", -1);
  const std::vector<std::string> whole = events(read_metrics(path));
  EXPECT_EQ(whole,
            (std::vector<std::string>{"run_start 0", "test 0", "train 0", "train 3", "snapshot 4", "test 6", "train 6",
                                      "snapshot 8", "train 9", "snapshot 12", "test 12", "run_end 12"}));
  train_with_metrics(folder, path, folder / "tiny_iter_4.solverstate", 7);
  EXPECT_EQ(
      events(read_metrics(path)),
      (std::vector<std::string>{"run_start 0", "test 0", "train 0", "train 3", "snapshot 4", "run_end 12",
                                "run_start 4", "resume 4", "warn 4", "test 6", "train 6", "snapshot 7", "stop 7"}));
}

TEST(Metrics, AreReadWhateverTheFileHolds) {
  const std::vector<MetricRow> rows = metrics_in(
      "{\"t\":1,\"ev\":\"train\",\"iter\":3,\"loss\":\"NaN\",\"outputs\":{\"loss\":\"-Inf\"}}\n"
      "no "
      "json\n[1]\n{}\n{\"ev\":7,\"iter\":\"x\",\"outputs\":3,\"scores\":[1,{\"best\":3},{\"name\":\"b\",\"best\":"
      "\"lowest\"}]}\n"
      "{\"t\":1,\"ev\":\"test\",\"iter\":1e300}\n\xff\xfe\n{\"torn\"");
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_TRUE(std::isnan(rows[0].loss));
  EXPECT_EQ(rows[0].outputs[0].second, -INFINITY);
  ASSERT_EQ(rows[2].scores.size(), 1u);
  EXPECT_TRUE(rows[2].scores[0].lower_is_better);
  EXPECT_EQ(rows[3].iter, 0);
}

TEST(Metrics, AreEmptyWithoutAFile) { EXPECT_TRUE(read_metrics("/nowhere/metrics.jsonl").empty()); }

}  // namespace
}  // namespace cortado::runs
