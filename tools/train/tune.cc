// `cortado tune`: finds the learning rate, the largest batch that fits in memory, and the number of threads of a
// solver's training by trial. Writes the new solver next to the old one, and a picture of the losses.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files/file.h"
#include "core/log.h"
#include "core/text/text.h"
#include "core/threads/threads.h"
#include "solvers/config.h"
#include "solvers/solver.h"
#include "tools/net/net_memory.h"
#include "tools/options/net_file.h"
#include "tools/options/run_options.h"
#include "tools/output/output_name.h"
#include "tools/output/terminal.h"
#include "tools/program/command.h"
#include "tools/tuner/rate_finding.h"
#include "tools/tuner/trial.h"
#include "tools/tuner/tuning_page.h"

namespace cortado::tools {

namespace {

/// The results.
struct Tuning {
  RateSweep sweep;
  RateFinding rate;
  int64_t batch = 0, budget = 0;
  FittingBatch fits{};
  std::vector<Speed> speeds;
  float old_rate = 0;
  double old_loss = 0, new_loss = 0;  ///< of trials at the old rate and at the suggested one
  int tried_iterations = 0;           ///< of these trials

  bool is_better() const { return rate.suggested > 0 && new_loss < (1 - kNoiseOfLoss) * old_loss; }
  const Speed* best() const {
    const auto most = std::max_element(speeds.begin(), speeds.end(), [](const Speed& a, const Speed& b) {
      return a.images_per_second < b.images_per_second;
    });
    return most == speeds.end() ? nullptr : &*most;
  }
};

void say(const std::string& text) {
  if (is_terminal(STDERR_FILENO)) show_error(text);
}

/// Four fifths of the free memory; the rest is for other programs and for snapshots.
int64_t free_memory() {
  const int64_t pages = sysconf(_SC_AVPHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? pages / 5 * 4 * size : int64_t(1) << 30;
}

ContextOptions options_for_trials(const Arguments& arguments, const SolverFile& file) {
  return context_options(arguments, {.gpu = file.solver.solver_mode() == caffe::SolverParameter::GPU,
                                     .gpu_index = gpu_index_of(file.solver),
                                     .source = file.solver.has_solver_mode() ? "solver_mode is GPU" : ""});
}

void find_training_batch(const SolverFile& file, const SolverOptions& options, Context& context, Tuning& tuning) {
  const SolverConfig trial = parse_solver(for_trials(file));
  SolverNetReader reader(trial, options, context);
  const SolverNetFile net = reader.train();
  constexpr int64_t kMost = 1 << 14;
  tuning.fits = largest_batch(tuning.budget, kMost, [&](int64_t batch) {
    return plan_memory(with_batch(net.file, batch), net.options, context).total();
  });
}

/// The rising rate shows where the loss falls fastest, but not how low it gets. Short trainings at both rates show
/// that.
void try_rates(const SolverFile& file, const SolverOptions& options, int iterations, Context& context, Tuning& tuning) {
  if (tuning.rate.suggested <= 0) return;
  say("trying both rates");
  tuning.tried_iterations = iterations;
  tuning.old_loss = loss_at_rate(file, options, tuning.old_rate, iterations, context);
  tuning.new_loss = loss_at_rate(file, options, float(tuning.rate.suggested), iterations, context);
}

void try_threads(const Arguments& arguments, const SolverFile& file, const SolverOptions& options, Tuning& tuning) {
  constexpr double kSeconds = 0.7;
  constexpr int kRounds = 2;
  std::vector<int> counts = {1};
  for (const int all = default_threads(); counts.back() < all;) counts.push_back(std::min(counts.back() * 2, all));
  if (arguments.has("threads")) counts = {int(arguments.integer("threads"))};
  for (const int count : counts) tuning.speeds.push_back({.threads = count});
  for (int round = 0; round < kRounds; ++round) {  // several rounds, because other work on the machine varies
    for (Speed& speed : tuning.speeds) {
      say("trying " + count_of(speed.threads, "thread", "threads"));
      ContextOptions place = options_for_trials(arguments, file);
      place.threads = speed.threads;
      CommandContext context(arguments, place);
      const Speed now = measure_speed(file, options, kSeconds, context);
      if (now.images_per_second > speed.images_per_second) speed = now;
    }
  }
}

std::string rate_text(double rate) { return number_text("%.2g", rate); }

std::string threads_text(const Tuning& tuning) {
  std::string text;
  for (const Speed& speed : tuning.speeds)
    text += (text.empty() ? "" : ", ") + std::to_string(speed.threads) + ": " +
            count_text(int64_t(speed.images_per_second)) + " img/s";
  return text;
}

using Rows = std::vector<std::vector<std::string>>;

/// The measurements: name, value, meaning.
Rows rows_of(const Tuning& tuning) {
  const RateFinding& rate = tuning.rate;
  Rows rows = {{"initial loss", number_text("%.4g", rate.first_loss),
                "over " + std::to_string(tuning.sweep.rates.size()) + " iterations of rising rate"},
               {"lowest loss", number_text("%.4g", rate.least_loss), "at a rate of " + rate_text(rate.least)},
               {"steepest fall", rate_text(rate.steepest), "the rate where the loss falls fastest"},
               {"diverges", rate.diverged > 0 ? rate_text(rate.diverged) : "-",
                rate.diverged > 0 ? "" : "no divergence up to the highest rate"},
               {"base_lr", rate.suggested > 0 ? rate_text(rate.suggested) : "-",
                "the solver has " + number_text("%g", double(tuning.old_rate))}};
  if (rate.suggested > 0)
    rows.push_back(
        {"tried", number_text("%.4g", tuning.new_loss),
         "loss after as many iterations at that rate; at the solver's rate " + number_text("%.4g", tuning.old_loss)});
  if (tuning.fits.batch > 0)
    rows.push_back({"batch that fits", count_text(tuning.fits.batch),
                    "in " + bytes_text(tuning.budget) + " of free memory; the net has " + count_text(tuning.batch)});
  if (const Speed* best = tuning.best())
    rows.push_back({"threads", std::to_string(best->threads),
                    threads_text(tuning) + "; waiting for data " + number_text("%.0f%%", 100 * best->wait_share)});
  return rows;
}

Table table_of(const Tuning& tuning) {
  Table table({"measured", "value", "meaning"});
  for (std::vector<std::string>& row : rows_of(tuning)) table.add(std::move(row));
  return table;
}

/// The comparison of the two rates in a sentence.
std::string result_of(const Tuning& tuning) {
  if (tuning.rate.suggested <= 0) return "The loss falls at no rate.";
  return std::string(tuning.is_better() ? "Better" : "Not better") + ": after " +
         std::to_string(tuning.tried_iterations) + " iterations the loss is " + number_text("%.4g", tuning.new_loss) +
         " at a rate of " + rate_text(tuning.rate.suggested) + ", and " + number_text("%.4g", tuning.old_loss) +
         " at the solver's " + number_text("%g", double(tuning.old_rate)) + ".";
}

/// The path of the picture that belongs to the solver `output`.
std::string picture_path(const std::string& output) {
  return std::filesystem::path(output).replace_extension(".html").string();
}

void write_picture(const Tuning& tuning, const std::string& solver, const std::string& path) {
  std::vector<RateMark> marks = {{double(tuning.old_rate), "the solver's rate"}};
  if (tuning.rate.suggested > 0) marks.push_back({tuning.rate.suggested, "the rate found"});
  write_file_atomically(path, tuning_page(solver, result_of(tuning), tuning.sweep, marks, rows_of(tuning)));
}

std::string comments_of(const Tuning& tuning, const std::string& solver) {
  std::string text = "# Made from " + solver + " by `cortado tune`, which measured:\n";
  for (const std::string& line : split(table_of(tuning).str({}), '\n'))
    if (!line.empty()) text += "#   " + line + "\n";
  return text;
}

nlohmann::ordered_json finite_or_null(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
}

nlohmann::ordered_json tuning_json(const Tuning& tuning, const std::string& output, const std::string& picture) {
  nlohmann::ordered_json json = {{"output", output},
                                 {"picture", picture},
                                 {"base_lr", tuning.rate.suggested},
                                 {"old_base_lr", tuning.old_rate},
                                 {"better", tuning.is_better()},
                                 {"loss", finite_or_null(tuning.new_loss)},
                                 {"old_loss", finite_or_null(tuning.old_loss)},
                                 {"steepest", tuning.rate.steepest},
                                 {"least", tuning.rate.least},
                                 {"diverged", tuning.rate.diverged},
                                 {"batch", tuning.batch},
                                 {"largest_batch", tuning.fits.batch},
                                 {"largest_batch_bytes", tuning.fits.bytes},
                                 {"speeds", nlohmann::ordered_json::array()},
                                 {"rates", tuning.sweep.rates},
                                 {"losses", tuning.sweep.losses}};
  for (const Speed& speed : tuning.speeds)
    json["speeds"].push_back(
        {{"threads", speed.threads}, {"images_per_second", speed.images_per_second}, {"wait_share", speed.wait_share}});
  return json;
}

SweepOptions sweep_options(const Arguments& arguments) {
  const SweepOptions options{arguments.number("lowest"), arguments.number("highest"),
                             int(arguments.integer("iterations"))};
  if (!(options.lowest > 0 && options.highest > options.lowest && options.highest <= 1e6))
    throw usage_error("--lowest and --highest must be above 0, and --highest the larger one");
  return options;
}

Tuning tune(const Arguments& arguments, const SolverFile& file, const SolverOptions& options) {
  Tuning tuning;
  tuning.old_rate = file.solver.base_lr();
  CommandContext context(arguments, options_for_trials(arguments, file));
  say("raising the rate");
  tuning.sweep = sweep_rates(file, options, sweep_options(arguments), context);
  tuning.rate = find_rate(tuning.sweep);
  try_rates(file, options, int(arguments.integer("iterations")), context, tuning);
  {
    SolverOptions own = options;
    Solver solver = make_solver(for_trials(file), own, context);
    tuning.batch = solver.net().batch_size();
  }
  tuning.budget = arguments.has("budget") ? read_bytes(arguments.text("budget")) : free_memory();
  if (context.shares_host_memory() || arguments.has("budget")) find_training_batch(file, options, context, tuning);
  if (context.device.is_cpu()) try_threads(arguments, file, options, tuning);
  return tuning;
}

void show_tuning(const Tuning& tuning, const std::string& solver, const std::string& output) {
  std::cout << table_of(tuning).str();
  std::cout << result_of(tuning) << "\npicture: " << picture_path(output) << "\n";
  if (tuning.rate.suggested == 0)
    throw Error(ExitCode::kNet, "the loss falls at no rate; no solver was written",
                "check the solver and its data with `cortado check` and `cortado data sheet`, or search longer with "
                "--iterations=500");
  const Speed* best = tuning.best();
  if (tuning.is_better())
    std::cout << "wrote " << output << "\n";
  else
    std::cout << "no solver was written\n";
  std::cout << "next: cortado train " << (tuning.is_better() ? output : solver)
            << (best && best->threads != default_threads() ? " --threads=" + std::to_string(best->threads) : "")
            << "\n";
}

int run_tune(const Arguments& arguments) {
  const std::string path = arguments.text("solver");
  SolverFile file = open_solver(path);
  SolverOptions options;
  options.state = state_of(arguments, caffe::TRAIN);
  options.state.clear_phase();
  options.weights = arguments.texts("weights");
  options.data_threads = data_threads_of(arguments);
  options.overrides = overrides_of(arguments);
  options.overrides.apply(file);
  parse_solver(file);
  const std::string output =
      arguments.has("output") ? arguments.text("output") : join_path(folder_of(path), "tuned.prototxt");
  check_output_name(output, "a solver", prototxt_endings());
  const std::string picture = picture_path(output);
  for (const std::string& file : {output, picture}) check_may_replace(arguments, file);
  const std::string text = read_prototxt(path);
  caffe::SolverParameter written;
  read_message_from_text(text, path, written);
  if (written.relative_to_file() && folder_of(output) != folder_of(path))
    throw usage_error("the paths in " + path + " are relative to its folder (relative_to_file)",
                      "write the tuned solver there: --output=" + join_path(folder_of(path), file_name_of(output)));
  if (!arguments.on("verbose")) set_log_level(Severity::kWarning);
  const Tuning tuning = tune(arguments, file, options);
  write_picture(tuning, path, picture);
  if (tuning.is_better()) {
    const std::string tuned =
        with_base_lr(text, read_solver(path).positions, tuning.rate.suggested, comments_of(tuning, path));
    read_solver_from_text(tuned, output);  // checks that the written text is a valid solver
    write_file_atomically(output, tuned);
  }
  if (!arguments.on("json")) {
    show_tuning(tuning, path, output);
    return 0;
  }
  std::cout << tuning_json(tuning, tuning.is_better() ? output : "", picture).dump(2) << "\n";
  return tuning.rate.suggested > 0 ? 0 : int(ExitCode::kNet);
}

}  // namespace

Command tune_command() {
  Flag weights = with_note(weights_flag(), "to start from");
  weights.operand = false;
  Flag iterations = iterations_flag("150", 20, "while the rate rises");
  iterations.most = 100000;
  return {
      .name = "tune",
      .summary = "Find a learning rate, batch size and number of threads for a training",
      .flags =
          joined({{solver_flag(),
                   output_flag("FILE",
                               "a solver, FILE.prototxt, and its picture; by default tuned.prototxt next to the other"),
                   force_flag(),
                   weights,
                   {.name = "lowest",
                    .kind = FlagKind::kNumber,
                    .value = "RATE",
                    .help = "first learning rate to try",
                    .fallback = "1e-6"},
                   {.name = "highest",
                    .kind = FlagKind::kNumber,
                    .value = "RATE",
                    .help = "last learning rate to try, unless the loss diverges before",
                    .fallback = "10"},
                   iterations,
                   with_note(budget_flag(), "for the batch; by default 80 % of what is free"),
                   set_flag(),
                   layer_flag(),
                   verbose_flag(),
                   json_flag(),
                   data_threads_flag()},
                  state_flags(),
                  device_flags()}),
      .examples = {{"cortado tune my/solver.prototxt", "measure, and write my/tuned.prototxt and my/tuned.html"},
                   {"cortado tune my/solver.prototxt --iterations=400 --json", "a longer search, for scripts"}},
      .run = run_tune,
      .about =
          "Trains the net on its data while the rate rises exponentially. The rate where the smoothed loss falls "
          "fastest is a good base_lr for policies that lower it later; a quarter of the rate with the smallest "
          "loss is used if that is lower. Trainings of as many iterations compare it with the solver's own rate; "
          "if its loss is not at least 1 % lower, no solver is written. A picture of the losses, FILE.html, is "
          "next to the solver. Short trainings then measure the speed of each number of threads, and plans show how "
          "large a batch fits into memory."};
}

}  // namespace cortado::tools
