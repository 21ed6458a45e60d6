// `cortado runs`: lists the runs below a folder, compares runs, and finds the best one.
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files/file.h"
#include "core/process/unix_seconds.h"
#include "core/text/json.h"
#include "tools/options/run_options.h"
#include "tools/options/run_source.h"
#include "tools/output/output_name.h"
#include "tools/output/terminal.h"
#include "tools/program/command.h"
#include "tools/report/comparison_page.h"
#include "tools/runs/run_comparison.h"
#include "tools/runs/run_list.h"
#include "tools/train/next_command.h"

namespace cortado::tools {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kFoldedLayers = 20;

std::string age_text(double since) {
  const double seconds = std::max(0.0, unix_seconds() - since);
  if (seconds < 48 * 3600) return duration_text(seconds) + " ago";
  return number_text("%.0f", seconds / 86400) + " days ago";
}

std::string best_text(const runs::BestScore* best) {
  if (!best) return "";
  return best->name + " " + number_text("%.4g", best->value) + "@" + std::to_string(best->iter);
}

Json json_of(const runs::RunSummary& run) {
  Json best = Json::object();
  for (const runs::BestScore& score : run.best)
    best[score.name] = {
        {"value", score.value}, {"iter", score.iter}, {"best", runs::direction_word(score.lower_is_better)}};
  return {{"path", run.path},
          {"state", runs::name_of(run.state)},
          {"pid", run.process},
          {"iter", run.iter},
          {"max_iter", run.max_iter},
          {"loss", run.loss},
          {"best", best},
          {"img_s", run.images_per_second},
          {"created", run.created},
          {"latest", run.latest},
          {"seconds", run.seconds},
          {"snapshot", run.snapshot},
          {"problem", run.problem},
          {"solver", run.solver}};
}

std::string folder_of_runs(const Arguments& arguments) {
  return arguments.operands().empty() ? "." : arguments.operands()[0];
}

int run_list(const Arguments& arguments) {
  const std::string folder = folder_of_runs(arguments);
  const std::vector<runs::RunSummary> found = runs::list_runs(folder);
  if (arguments.on("json")) {
    Json out = Json::array();
    for (const runs::RunSummary& run : found) out.push_back(json_of(run));
    std::cout << dumped_json(out, 2) << "\n";
    return 0;
  }
  if (found.empty()) {
    std::cout << "no runs in " << folder << "; `cortado train SOLVER --run=FOLDER` starts one\n";
    return 0;
  }
  Table table({"run", "state", "iteration", "best score", "loss", "time", "started"});
  for (const runs::RunSummary& run : found)
    table.add({run.path, runs::name_of(run.state), std::to_string(run.iter) + "/" + std::to_string(run.max_iter),
               best_text(runs::main_score(run)), number_text("%.4g", run.loss), duration_text(run.seconds),
               age_text(run.created)});
  std::cout << table.str({2, 4, 5});
  return 0;
}

// Comparison

std::string text_or_dash(const std::string& value) { return value.empty() ? "-" : value; }

/// A table with a column for each run; its first columns are `names`.
Table table_by_run(std::vector<std::string> names, const runs::RunComparison& comparison) {
  names.insert(names.end(), comparison.runs.begin(), comparison.runs.end());
  return Table(std::move(names));
}

void add_row(std::vector<std::string> row, const std::vector<std::string>& values, Table& to) {
  for (const std::string& value : values) row.push_back(text_or_dash(value));
  to.add(std::move(row));
}

void show_scores(const runs::RunComparison& comparison) {
  if (comparison.scores.empty()) {
    std::cout << "no scores: no run was tested after an update\n";
    return;
  }
  Table table = table_by_run({"best score"}, comparison);
  std::vector<size_t> right;
  for (size_t i = 1; i <= comparison.runs.size(); ++i) right.push_back(i);
  for (const runs::ScoreDifference& score : comparison.scores) {
    std::vector<std::string> values;
    for (const std::optional<double>& value : score.values) values.push_back(value ? number_text("%.6g", *value) : "");
    add_row({score.name}, values, table);
  }
  std::cout << table.str(right);
}

void show_values(const char* title, const std::vector<runs::ValueDifference>& list,
                 const runs::RunComparison& comparison) {
  Table table = table_by_run({title}, comparison);
  for (const runs::ValueDifference& one : list) add_row({one.name}, one.values, table);
  if (list.empty())
    std::cout << "\n" << title << ": the same\n";
  else
    std::cout << "\n" << table.str();
}

void show_layers(const runs::RunComparison& comparison, bool full) {
  const std::vector<runs::LayerDifference>& layers = comparison.layers;
  if (layers.empty()) {
    std::cout << "\nlayers: the same\n";
  } else if (layers.size() > kFoldedLayers && !full) {
    std::cout << "\nlayers: " << runs::summary_of(layers) << "; --full lists them\n";
  } else {
    Table table = table_by_run({"layer", "field"}, comparison);
    for (const runs::LayerDifference& one : layers)
      add_row({(one.net == "net" ? "" : one.net + ": ") + one.layer, one.field.empty() ? "type" : one.field},
              one.values, table);
    std::cout << "\n" << table.str();
  }
}

int run_compare(const Arguments& arguments) {
  const std::string output = arguments.text("output");
  if (!output.empty()) {
    check_output_name(output, "a page", {".html", ".htm"});
    check_may_replace(arguments, output);
  }
  const runs::RunComparison comparison = runs::compare_runs(arguments.operands());
  if (!output.empty()) write_file_atomically(output, comparison_page(comparison));
  if (arguments.on("json")) {
    std::cout << dumped_json(comparison_json(comparison), 2) << "\n";
    return 0;
  }
  show_scores(comparison);
  show_values("setting", comparison.settings, comparison);
  show_layers(comparison, arguments.on("full"));
  show_values("inputs and machine", comparison.facts, comparison);
  if (!output.empty()) std::cout << "\nwrote " << output << "\n";
  return 0;
}

// The best run

std::vector<std::string> names_of_scores(const std::vector<runs::RunSummary>& found) {
  std::vector<std::string> names;
  for (const runs::RunSummary& run : found)
    for (const runs::BestScore& best : run.best)
      if (std::find(names.begin(), names.end(), best.name) == names.end()) names.push_back(best.name);
  return names;
}

Error without_score(const std::vector<runs::RunSummary>& found, const std::string& folder, const std::string& score) {
  const std::vector<std::string> names = names_of_scores(found);
  if (found.empty()) return usage_error("no runs in " + folder, "`cortado train SOLVER --run=FOLDER` starts one");
  const bool is_tested = std::any_of(found.begin(), found.end(), [](const auto& run) { return run.is_tested; });
  if (names.empty() && is_tested)
    return usage_error("the runs in " + folder + " were tested only before the first update",
                       "set test_interval so that it divides max_iter");
  if (names.empty())
    return usage_error("none of the runs in " + folder + " was tested",
                       "set test_iter and test_interval in the solver");
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return usage_error("no run in " + folder + " has the score '" + score + "'", "the scores are " + list);
}

int run_best(const Arguments& arguments) {
  const std::string folder = folder_of_runs(arguments), wanted = arguments.text("score");
  const std::vector<runs::RunSummary> found = runs::list_runs(folder);
  const runs::BestRun best = runs::best_run(found, wanted);
  if (!best.run) throw without_score(found, folder, wanted);
  const RunSource source = source_of_run(best.run->path);
  const std::string next = source.weights.empty() ? "" : next_command(best.run->path, source);
  if (arguments.on("json")) {
    const Json out = {{"path", best.run->path},
                      {"score", best.best.name},
                      {"value", best.best.value},
                      {"iter", best.best.iter},
                      {"best", runs::direction_word(best.best.lower_is_better)},
                      {"runs", best.runs},
                      {"weights", source.weights},
                      {"best_weights", source.is_best},
                      {"command", next}};
    std::cout << dumped_json(out, 2) << "\n";
    return 0;
  }
  std::cout << best.run->path << ": " << best.best.name << " " << number_text("%.4g", best.best.value)
            << " at iteration " << best.best.iter << ", the " << runs::direction_word(best.best.lower_is_better)
            << " of " << (best.runs == 1 ? "1 run" : std::to_string(best.runs) + " runs") << "\n";
  if (source.weights.empty()) {
    std::cout << "weights: none, it has no snapshot\n";
    return 0;
  }
  std::cout << "weights: " << source.weights
            << (source.is_best ? "" : " (the last snapshot; --keep-best=" + best.best.name + " keeps the best)") << "\n"
            << "next: " << next << "\n";
  return 0;
}

Command compare_command() {
  return {.name = "runs compare",
          .summary = "Show what differs between runs",
          .flags = {output_flag("FILE", "a page with curves, FILE.html"),
                    {.name = "full", .help = "show all layers", .note = "that differ, also if they are many"},
                    force_flag(),
                    json_flag()},
          .operands = {"RUN...", "runs' folders", 2, 100},
          .examples = {{"cortado runs compare runs/a runs/b", "scores, settings, layers, inputs and machine"},
                       {"cortado runs compare runs/a runs/b runs/c -o runs.html", "with curves, for any browser"}},
          .run = run_compare,
          .about =
              "The solvers are compared by setting and the nets by layer. More than 20 differences between nets are "
              "counted; --full lists them."};
}

Command best_command() {
  return {
      .name = "runs best",
      .summary = "Find the run with the best score",
      .flags = {{.name = "score",
                 .kind = FlagKind::kText,
                 .value = "NAME",
                 .help = "the score; by default the main score of most runs, such as accuracy"},
                json_flag()},
      .operands = {"FOLDER", "where to search, at any depth", 0, 1},
      .examples = {{"cortado runs best", "its score, its weights and the command that uses them"},
                   {"cortado runs best experiments --score=loss", "by another score"}},
      .run = run_best,
      .about =
          "The score of a run is its best value in tests after an update. The run's metrics record whether lower or "
          "higher is better: see lower_is_better in docs/solvers.md."};
}

}  // namespace

Command runs_command() {
  return {.name = "runs",
          .summary = "List and compare training runs, find the best",
          .examples = {{"cortado runs", "those below the current folder: state, iteration, best score, time"},
                       {"cortado runs compare runs/a runs/b", "what differs in settings, layers, data and scores"},
                       {"cortado runs best", "the run with the best score, and the command that uses it"}},
          .about =
              "A run is a folder that `cortado train --run` made. It is running while its process holds the "
              "folder's lock, and killed where it ended without a report. `cortado train --resume=FOLDER` "
              "continues it.",
          .subcommands = {{.name = "runs ls",
                           .summary = "List the runs below a folder; also `cortado runs FOLDER`",
                           .flags = {json_flag()},
                           .operands = {"FOLDER", "where to search, at any depth", 0, 1},
                           .examples = {{"cortado runs experiments --json", "for scripts"}},
                           .run = run_list},
                          compare_command(),
                          best_command()},
          .otherwise = "ls"};
}

}  // namespace cortado::tools
