// `cortado runs`: lists the runs below a folder, and compares two.
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/process/unix_seconds.h"
#include "core/text/json.h"
#include "tools/options/run_options.h"
#include "tools/output/terminal.h"
#include "tools/program/command.h"
#include "tools/runs/run_comparison.h"
#include "tools/runs/run_list.h"

namespace cortado::tools {

namespace {

using Json = nlohmann::ordered_json;

std::string age_text(double since) {
  const double seconds = std::max(0.0, unix_seconds() - since);
  if (seconds < 48 * 3600) return duration_text(seconds) + " ago";
  return number_text("%.0f", seconds / 86400) + " days ago";
}

std::string best_text(const runs::MetricRow::Best* best) {
  if (!best) return "";
  return best->name + " " + number_text("%.4g", best->value) + "@" + std::to_string(best->iter);
}

Json json_of(const runs::RunSummary& run) {
  Json best = Json::object();
  for (const runs::MetricRow::Best& score : run.best) best[score.name] = {{"value", score.value}, {"iter", score.iter}};
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

int run_list(const Arguments& arguments) {
  const std::string folder = arguments.operands().empty() ? "." : arguments.operands()[0];
  const bool json = arguments.on("json");
  const std::vector<runs::RunSummary> found = runs::list_runs(folder);
  if (json) {
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

Json json_of(const runs::RunComparison& comparison) {
  Json out = {{"files", Json::array()}, {"facts", Json::array()}, {"scores", Json::array()}};
  for (const runs::FileDifference& file : comparison.files)
    out["files"].push_back({{"file", file.name}, {"lines", file.lines}});
  for (const runs::FactDifference& fact : comparison.facts)
    out["facts"].push_back({{"name", fact.name}, {"a", fact.a}, {"b", fact.b}});
  for (const runs::ScoreDifference& score : comparison.scores) {
    Json& one = out["scores"].emplace_back(Json{{"name", score.name}});
    one["a"] = score.a ? Json(*score.a) : Json();
    one["b"] = score.b ? Json(*score.b) : Json();
  }
  return out;
}

std::string number_or_dash(const std::optional<double>& value) { return value ? number_text("%.6g", *value) : "-"; }

int run_compare(const Arguments& arguments) {
  const std::string &a = arguments.operands()[0], &b = arguments.operands()[1];
  const runs::RunComparison comparison = runs::compare_runs(a, b);
  if (arguments.on("json")) {
    std::cout << dumped_json(json_of(comparison), 2) << "\n";
    return 0;
  }
  for (const runs::FileDifference& file : comparison.files) {
    std::cout << file.name << ":\n";
    for (const std::string& line : file.lines) std::cout << "  " << line << "\n";
  }
  if (comparison.files.empty()) std::cout << "the same solver and nets\n";
  Table table({"", a, b});
  for (const runs::FactDifference& fact : comparison.facts) table.add({fact.name, fact.a, fact.b});
  for (const runs::ScoreDifference& score : comparison.scores)
    table.add({"best " + score.name, number_or_dash(score.a), number_or_dash(score.b)});
  std::cout << "\n" << table.str();
  return 0;
}

}  // namespace

Command runs_command() {
  return {.name = "runs",
          .summary = "List training runs, or compare two",
          .examples = {{"cortado runs", "those below the current folder: state, iteration, best score, time"},
                       {"cortado runs compare runs/a runs/b", "what differs in files, machine, data and scores"}},
          .about =
              "A run is a folder that `cortado train --run` made. It is running while its process holds the "
              "folder's lock, and killed where it ended without a report. `cortado train --resume=FOLDER` "
              "continues it.",
          .subcommands = {{.name = "runs ls",
                           .summary = "List the runs below a folder; also `cortado runs FOLDER`",
                           .flags = {json_flag()},
                           .operands = {"FOLDER", "where to search, four folders deep", 0, 1},
                           .examples = {{"cortado runs experiments --json", "for scripts"}},
                           .run = run_list},
                          {.name = "runs compare",
                           .summary = "Show what differs between two runs",
                           .flags = {json_flag()},
                           .operands = {"RUN RUN", "two runs' folders", 2, 2},
                           .examples = {{"cortado runs compare runs/a runs/b", "files, machine, data and scores"}},
                           .run = run_compare}},
          .otherwise = "ls"};
}

}  // namespace cortado::tools
