// `cortado check`: all errors of nets and solvers, without training and without the nets' memory. Builds a net for
// training and for testing, if it has data for these, in each stage of its rules; builds a solver's nets as the solver
// does. An error of both phases is reported once, an error of one phase with the phase's name.
#include <algorithm>
#include <iostream>
#include <optional>
#include <set>

#include "core/error.h"
#include "core/field_text.h"
#include "core/text/json.h"
#include "graph/passes/passes.h"
#include "graph/phases.h"
#include "graph/plan.h"
#include "net/epoch.h"
#include "solvers/config.h"
#include "solvers/score_direction.h"
#include "solvers/solver_nets.h"
#include "solvers/weight_update.h"
#include "tools/data/dataset_warnings.h"
#include "tools/net/unread_fields.h"
#include "tools/options/net_file.h"
#include "tools/options/run_options.h"
#include "tools/output/finding.h"
#include "tools/output/terminal.h"
#include "tools/program/command.h"
#include "tools/train/training_warnings.h"

namespace cortado::tools {

namespace {

class Checker {
 public:
  Checker(const Arguments& arguments, Context& context)
      : context_(context),
        open_data_(!arguments.on("no-data")),
        as_(arguments.text("as")),
        overrides_(overrides_of(arguments)),
        state_(state_of(arguments, caffe::TRAIN)) {
    state_.clear_phase();
  }

  Finding check(const std::string& path) {
    Finding finding;
    finding.path = as_.empty() ? path : as_;
    collect(finding, [&] {
      if (is_solver_file(path))
        check_solver_file(path, finding);
      else
        check_net_file(path, finding);
    });
    return finding;
  }

 private:
  /// Runs `work`, and adds its exceptions to the diagnostics of `finding`.
  template <typename Work>
  static void collect(Finding& finding, const Work& work) {
    try {
      work();
    } catch (const Error& error) {
      finding.add(error.code(), error.mistakes());
    } catch (const FieldError& error) {
      finding.add(ExitCode::kNet, {file_mistake(finding.path, with_field(error), error.hint())});
    }
  }

  std::shared_ptr<const NetFile> net_file(const std::string& path) const {
    if (as_.empty()) return open_net(path, overrides_);
    auto file = std::make_shared<NetFile>(read_net_draft_as(path, as_));
    overrides_.apply(*file);
    graph::refuse_draft(file);
    return file;
  }

  void check_net_file(const std::string& path, Finding& finding) {
    const auto file = net_file(path);
    for (const caffe::Phase phase : graph::phases_with_data(file->net, state_)) {
      finding.enter(phase);
      caffe::NetState state = state_;
      state.set_phase(phase);
      const std::vector<caffe::NetState> stages = stages_named(file->net, state);
      for (const caffe::NetState& stage : stages) collect(finding, [&] { check_net(file, stage, true, finding); });
      Finding without;
      collect(stages.empty() ? finding : without, [&] { check_net(file, state, true, finding); });
    }
    finding.name_phases();
    finding.forgive_unused_phase();
  }

  /// Without --stage: `state` in each of the stages that rules of its phase name. Solvers choose among the stages. The
  /// net may have no data without a stage, which is not an error then.
  static std::vector<caffe::NetState> stages_named(const caffe::NetParameter& net, const caffe::NetState& state) {
    std::vector<caffe::NetState> found;
    std::set<std::string> seen;
    if (state.stage_size() > 0 || net.state().stage_size() > 0) return found;
    for (const caffe::LayerParameter& layer : net.layer())
      for (const caffe::NetStateRule& rule : layer.include()) {
        if (rule.stage_size() == 0 || (rule.has_phase() && rule.phase() != state.phase())) continue;
        caffe::NetState stage = state;
        *stage.mutable_stage() = rule.stage();
        if (seen.insert(stage.SerializeAsString()).second) found.push_back(stage);
      }
    return found;
  }

  void check_solver_file(const std::string& path, Finding& finding) {
    finding.kind = "solver";
    SolverFile file = as_.empty() ? read_solver_draft(path) : read_solver_draft_as(path, as_);
    overrides_.apply(file);
    Mistakes mistakes;
    for (const TextMistake& found : file.mistakes) mistakes.add(found.mistake);
    Mistakes values;  // invalid fields have their default
    const SolverConfig config = parse_solver(std::move(file), values);
    if (const Mistakes& first = mistakes.empty() ? values : mistakes; !first.empty())
      finding.add(ExitCode::kNet, first.list());
    finding.warn(solver_warnings(config.file));
    SolverOptions options;
    options.state = state_;
    options.overrides = overrides_;
    if (has_train_net(config.file.solver)) check_nets_of(config, options, finding);
    if (open_data_) collect(finding, [&] { starting_weights(config.file, options); });
  }

  static bool has_train_net(const caffe::SolverParameter& solver) {
    return solver.has_net() || solver.has_net_param() || solver.has_train_net() || solver.has_train_net_param();
  }

  /// The training net, then the test nets.
  std::vector<SolverNetFile> nets_of(const SolverConfig& config, const SolverOptions& options) const {
    SolverNetReader reader(config, options, context_);
    std::vector<SolverNetFile> nets = {reader.train()};
    for (size_t i = 0; i < reader.test_count(); ++i) nets.push_back(reader.test(i));
    return nets;
  }

  void check_nets_of(const SolverConfig& config, const SolverOptions& options, Finding& finding) {
    collect(finding, [&] {
      std::vector<graph::Graph> tests;
      std::optional<graph::Graph> training;
      for (const SolverNetFile& net : nets_of(config, options)) {
        const caffe::NetState& state = net.options.state;
        const bool trains = state.phase() == caffe::TRAIN;
        finding.enter(state.phase());
        collect(finding, [&] {
          graph::Graph graph = check_net(net.file, state, config.iteration.updates_within_backward(context_), finding);
          if (trains && open_data_ && config.file.solver.max_epoch() > 0)
            at_its_field(config, finding, [&] { records_of(graph, "max_epoch"); });
          if (trains)
            training = std::move(graph);
          else
            tests.push_back(std::move(graph));
        });
      }
      finding.name_phases();
      check_tests(config, tests, finding);
      for (const graph::Graph& test : tests)
        if (training && open_data_) collect(finding, [&] { check_names(*training, test, finding); });
      if (training && open_data_ && finding.errors.empty()) warn_of_usual(config.file, *training, tests, finding);
    });
  }

  /// Warns of common problems that are not errors.
  static void warn_of_usual(const SolverFile& file, const graph::Graph& training,
                            const std::vector<graph::Graph>& tests, Finding& finding) {
    finding.warn(rate_warnings(file, training));
    finding.warn(raw_value_warnings(training));
    finding.warn(stored_statistics_warnings(file, training));
    for (size_t i = 0; i < tests.size(); ++i) {
      finding.warn(unlike_value_warnings(training, tests[i]));
      finding.warn(test_size_warnings(file, int(i), tests[i]));
    }
  }

  template <typename Check>
  static void at_its_field(const SolverConfig& config, Finding& finding, const Check& check) {
    collect(finding, [&] { config.at_its_field(check); });
  }

  /// Checks that the test nets have the scores and records that the solver needs.
  void check_tests(const SolverConfig& config, const std::vector<graph::Graph>& tests, Finding& finding) const {
    std::vector<std::vector<NetOutput>> outputs;
    std::vector<const std::vector<NetOutput>*> all;
    bool known = !tests.empty();
    for (const graph::Graph& test : tests) {
      known = known && all_shapes_known(test);
      outputs.push_back(outputs_of(test));
      if (config.tests.by_epoch && open_data_) at_its_field(config, finding, [&] { records_of(test, "test_epoch"); });
    }
    for (const auto& list : outputs) all.push_back(&list);
    if (!known) return;
    std::optional<std::vector<TestScore>> scores;
    at_its_field(config, finding, [&] { scores = test_scores(all, config.file.solver); });
    if (!scores) return;
    const auto find = [&](const std::string& name, const char* field) {
      at_its_field(config, finding, [&] { find_score(*scores, name, field); });
    };
    if (config.tests.keep_best) find(*config.tests.keep_best, "keep_best");
    if (!config.tests.plateau_metric.empty()) find(config.tests.plateau_metric, "plateau_metric");
    if (config.tests.early_stop) find(config.tests.early_stop->metric(), "early_stop.metric");
  }

  /// Returns the graph after infer_shapes.
  graph::Graph check_net(std::shared_ptr<const NetFile> file, const caffe::NetState& state, bool transient_gradients,
                         Finding& finding) {
    graph::BuildOptions options;
    options.state = state;
    options.backward = state.phase() == caffe::TRAIN;
    options.open_data = open_data_;
    options.vague_inputs = true;
    options.transient_gradients = transient_gradients;
    const graph::Graph built = graph::build(file, options);
    finding.warn(leveldb_warnings(built));
    finding.warn(unread_field_warnings(built));
    graph::Graph inferred = graph_with_shapes(file, options);
    finding.warn(inferred.warnings);
    ++finding.nets;
    finding.layers = std::max(finding.layers, inferred.nodes.size());
    finding.params = std::max(finding.params, count_weights(inferred, true));
    if (!all_shapes_known(inferred)) return inferred;
    if (open_data_) collect(finding, [&] { check_labels_of(inferred, finding); });
    graph::Graph graph = graph::build(std::move(file), graph::options_for(options, context_));
    graph::run_passes(graph);
    const graph::Plan plan = graph::make_plan(std::move(graph), context_);
    if (options.backward)
      finding.train_bytes = plan.arena_bytes + plan.weight_bytes() + plan.gradient_bytes() + plan.learned_bytes();
    return inferred;
  }

  static void check_names(const graph::Graph& training, const graph::Graph& test, Finding& finding) {
    if (const std::vector<Diagnostic> errors = conflicting_name_errors(training, test); !errors.empty())
      finding.add(ExitCode::kData, errors);
  }

  static void check_labels_of(const graph::Graph& graph, Finding& finding) {
    finding.warn(sorted_warnings(graph));
    const std::vector<Diagnostic> errors = label_errors(graph, finding.labels);
    if (!errors.empty()) finding.add(ExitCode::kData, errors);
  }

  Context& context_;
  bool open_data_;
  std::string as_;  ///< the name of the file; "": its own
  Overrides overrides_;
  caffe::NetState state_;
};

void show_warnings(const std::vector<Diagnostic>& warnings) {
  for (const Diagnostic& warning : warnings) {
    std::string text = render(warning, "warning");
    text.pop_back();  // removes the final newline
    show_error(text);
  }
}

int run_check(const Arguments& arguments) {
  CommandContext context(arguments);
  Checker checker(arguments, context);
  const std::vector<std::string>& files = arguments.operands();
  if (arguments.has("as") && files.size() > 1) throw usage_error("--as is the name of one file");
  const bool json = arguments.on("json");
  nlohmann::ordered_json report = nlohmann::ordered_json::array();
  ExitCode code = ExitCode::kOk;
  for (const std::string& path : files) {
    const Finding finding = checker.check(path);
    if (code == ExitCode::kOk) code = finding.code;
    if (!json) show_warnings(finding.warnings);
    if (json)
      report.push_back(to_json(finding));
    else if (!finding.errors.empty())
      show_error(Error(finding.code, finding.errors).what());
    else
      std::cout << (files.size() > 1 ? path + ": " : "") << "ok: " << summary_of(finding) << "\n";
  }
  if (json) std::cout << dumped_json(report, 2) << "\n";
  return int(code);
}

}  // namespace

Command check_command() {
  return {
      .name = "check",
      .summary = "Find errors in nets and solvers without training",
      .flags = joined({{no_data_flag(),
                        set_flag(),
                        layer_flag(),
                        {.name = "as",
                         .kind = FlagKind::kText,
                         .value = "NAME",
                         .help = "check the text as that of the file NAME: for places, and paths relative to it"},
                        json_flag()},
                       state_flags(),
                       device_flags()}),
      .operands = {"FILE...", "nets or solvers", 1, 100000},
      .examples = {{"cortado check solver.prototxt", "a solver and its nets, with their datasets"},
                   {"cortado check train_val.prototxt --no-data", "a net before its dataset exists"}},
      .run = run_check,
      .about =
          "For a solver it also warns of common problems: a rate far from the net's recipe in models/, images without "
          "mean and scale or with different ones in training and testing, tests that do not cover the whole set, "
          "stored "
          "statistics in training, datasets sorted by class. The exit code is 0 without errors (warnings are allowed), "
          "3 for errors in a net or solver, 4 in its data, 5 for files that cannot be read."};
}

}  // namespace cortado::tools
