#include "tools/runs/layer_watch.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/solvers/training.h"
#include "tools/runs/metrics_file.h"
#include "tools/runs/metrics_writer.h"
#include "tools/runs/tensorboard/event_writer.h"
#include "tools/runs/tensorboard/events.pb.h"

namespace cortado::runs {
namespace {

TEST(Spread, IsOfFiniteValues) {
  const Spread spread = spread_of({1, -2, NAN, 4, INFINITY, 1});
  EXPECT_EQ(spread.count, 4);
  EXPECT_EQ(spread.least, -2);
  EXPECT_EQ(spread.most, 4);
  EXPECT_EQ(spread.sum, 4);
  EXPECT_EQ(spread.norm(), std::sqrt(22.0));
  EXPECT_EQ(spread.bins[0], 1);
  EXPECT_EQ(spread.bins[15], 2) << "1 is the middle of -2 and 4";
  EXPECT_EQ(spread.bins.back(), 1);
  EXPECT_EQ(spread_of({}).count, 0);
  EXPECT_EQ(spread_of({3, 3}).bins[0], 2) << "all values are equal";
}

struct Look {
  int64_t iter;
  std::vector<WeightSpread> spreads;
};

/// The values that a watch records in a training; `weights` are the final ones.
std::vector<Look> looks(const Folder& folder, const std::string& options, int64_t every, std::string& weights) {
  std::vector<Look> out;
  Context context(1);
  Solver solver = make_solver(tiny_solver(folder, options), {}, context);
  LayerWatch watch(solver.net(), every);
  watch.add_reader([&](const Progress& progress, const auto& spreads) { out.push_back({progress.iter, spreads}); });
  if (every > 0) solver.add_observer(&watch);
  Requests requests{kRequestNothing};
  solver.run(requests);
  weights = read_file(folder / "tiny_iter_12.caffemodel");
  return out;
}

/// Plain SGD without momentum and decay: the recorded gradients change the weights.
TEST(LayerWatch, SeesGradientsThatMoveTheWeights) {
  for (const char* form : {"", "iter_size: 2", "clip_gradients: 100"}) {
    Folder folder, unseen;
    std::string weights, expected;
    const std::vector<Look> seen = looks(folder, form, 1, weights);
    looks(unseen, form, 0, expected);
    EXPECT_EQ(weights, expected) << "watching changes the training, " << form;
    ASSERT_EQ(seen.size(), 12u) << form;
    for (size_t i = 0; i + 1 < seen.size(); ++i) {
      EXPECT_EQ(seen[i].iter, int64_t(i));
      for (const WeightSpread& now : seen[i].spreads)
        for (const WeightSpread& next : seen[i + 1].spreads)
          if (now.name == next.name && now.name == "learned/0") {
            const double scale = std::string(form) == "iter_size: 2" ? 0.5 : 1;
            EXPECT_NEAR(next.values.sum, now.values.sum - 0.02 * scale * now.gradients.sum, 1e-5) << form;
            EXPECT_GT(now.gradients.norm(), 0);
          }
    }
  }
}

TEST(LayerWatch, RecordsAtItsInterval) {
  Folder folder;
  std::string weights;
  const std::vector<Look> seen = looks(folder, "", 5, weights);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[2].iter, 10);
  std::vector<std::string> names;
  for (const WeightSpread& spread : seen[0].spreads) names.push_back(spread.name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"learned/0", "learned/1", "slope/0"}));
}

TEST(LayerWatch, WritesLines) {
  Folder folder;
  const SpreadReader write = layer_lines(folder / "layers.jsonl");
  Progress progress;
  progress.iter = 7;
  write(progress, {{"conv/0", spread_of({1, 2, 3}), spread_of({0, 0.5})}});
  write(progress, {});
  std::istringstream text(read_file(folder / "layers.jsonl"));
  std::string line;
  std::getline(text, line);
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json["iter"], 7);
  EXPECT_EQ(json["layers"][0]["weights"]["mean"], 2);
  EXPECT_EQ(json["layers"][0]["gradients"]["max"], 0.5);
  EXPECT_TRUE(std::getline(text, line));
}

std::vector<events::Event> events_in(const std::string& folder) {
  std::vector<events::Event> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    for (const std::string& record : records_in(read_file(entry.path().string())))
      EXPECT_TRUE(out.emplace_back().ParseFromString(record));
  return out;
}

/// Of the event that describes the settings.
events::HParams settings_in(const std::string& folder) {
  events::HParams settings;
  for (const events::Event& event : events_in(folder))
    for (const auto& value : event.summary().value())
      if (value.tag() == "_hparams_/experiment") {
        EXPECT_TRUE(settings.ParseFromString(value.metadata().plugin_data().content()));
      }
  return settings;
}

TEST(EventWriter, WritesTheTrainingsValues) {
  Folder folder;
  {
    Context context(1);
    Solver solver = make_solver(tiny_solver(folder, "display: 6 test_iter: 1 test_interval: 6"), {}, context);
    EventWriter writer(folder / "tb", "run", solver.config().file.solver, solver.net());
    LayerWatch watch(solver.net(), 6);
    writer.follow(watch);
    solver.add_observer(&writer);
    solver.add_observer(&watch);
    Requests requests{kRequestNothing};
    solver.run(requests);
  }
  std::map<std::string, int> tags;
  for (const events::Event& event : events_in(folder / "tb"))
    for (const auto& value : event.summary().value()) ++tags[value.tag()];
  EXPECT_EQ(tags["train/loss"], 2) << "at 0 and 6";
  EXPECT_EQ(tags["train/rate"], 2);
  EXPECT_EQ(tags["test/loss"], 3);
  EXPECT_EQ(tags["weights/learned/0"], 2);
  EXPECT_EQ(tags["gradients/slope/0"], 2);
  EXPECT_EQ(tags["solver/text_summary"], 1);
  EXPECT_EQ(tags["_hparams_/session_start_info"], 1);
  EXPECT_EQ(tags["_hparams_/session_end_info"], 1);
  const events::HParams settings = settings_in(folder / "tb");
  std::map<std::string, int> types;
  for (const auto& info : settings.experiment().hparam_infos()) types[info.name()] = info.type();
  EXPECT_EQ(types["base_lr"], types["max_iter"]);
  EXPECT_NE(types["base_lr"], types["lr_policy"]);
  std::set<std::string> metrics;
  for (const auto& info : settings.experiment().metric_infos()) metrics.insert(info.name().tag());
  EXPECT_TRUE(metrics.contains("train/loss") && metrics.contains("test/loss")) << metrics.size();
  EXPECT_EQ(events_in(folder / "tb")[0].file_version(), "brain.Event:2");
}

/// The progress after 8 images in each iteration.
Progress progress_after(int64_t iter, double seconds, double waited) {
  Progress progress;
  progress.iter = iter;
  progress.images_per_iter = 8;
  progress.seconds = seconds;
  progress.wait_seconds = waited;
  return progress;
}

TEST(EventWriter, WritesTheSpeedOfEachIntervalAsTheMetricsDo) {
  Folder folder;
  {
    Context context(1);
    Solver solver = make_solver(tiny_solver(folder, ""), {}, context);
    EventWriter writer(folder / "tb", "run", solver.config().file.solver, solver.net());
    MetricsWriter metrics(folder / "metrics.jsonl");
    for (TrainObserver* observer : std::initializer_list<TrainObserver*>{&writer, &metrics}) {
      observer->on_start(progress_after(0, 0, 0), {});
      observer->on_display(progress_after(10, 10, 5), {});
      observer->on_display(progress_after(30, 12, 5), {});
    }
  }
  std::vector<double> speeds, waits;
  for (const events::Event& event : events_in(folder / "tb"))
    for (const auto& value : event.summary().value()) {
      if (value.tag() == "speed/images per second") speeds.push_back(double(value.simple_value()));
      if (value.tag() == "speed/share of waiting for data") waits.push_back(double(value.simple_value()));
    }
  EXPECT_EQ(speeds, (std::vector<double>{8, 80})) << "means since the start would be 8 and 20";
  EXPECT_EQ(waits, (std::vector<double>{0.5, 0}));
  std::vector<double> in_metrics;
  for (const MetricRow& row : read_metrics(folder / "metrics.jsonl"))
    if (row.event == "train") in_metrics.push_back(row.images_per_second);
  EXPECT_EQ(in_metrics, speeds);
}

}  // namespace
}  // namespace cortado::runs
