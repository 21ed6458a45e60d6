// `cortado plan`: what a net becomes on its way to running. Any pass's result can be seen.
#include "graph/plan.h"

#include <iostream>

#include "core/log.h"
#include "graph/passes/passes.h"
#include "kernels/kernel_cache.h"
#include "tools/net/plan_launches.h"
#include "tools/options/kernel_choices.h"
#include "tools/options/net_file.h"
#include "tools/options/run_options.h"
#include "tools/output/terminal.h"
#include "tools/program/command.h"

namespace cortado::tools {

namespace {

void list_passes() {
  Table table({"pass", "what it does"});
  for (const graph::Pass& pass : graph::all_passes())
    table.add({pass.name, pass.help + (pass.optional ? " (optional)" : "")});
  for (const FusionKind* kind : all_fusion_kinds()) table.add({"  " + kind->name, kind->help + " (optional)"});
  std::cout << table.str();
}

void show_reports(const std::vector<graph::PassReport>& reports) {
  Table table({"pass", "ms", "what changed"});
  for (const graph::PassReport& report : reports)
    table.add({report.name, number_text("%.2f", 1e3 * report.seconds), report.change});
  std::cout << table.str();
}

/// Which kernel was chosen for what, how, and its milliseconds where it was measured.
void show_choices(Context& context) {
  const auto& taken = context.handle<kernels::KernelCache>().recorded();
  if (taken.empty()) return;
  Table table({"problem", "kernel", "by", "ms"});
  for (const auto& [problem, choice] : taken)
    table.add({problem, choice.candidate, choice.origin,
               choice.seconds > 0 ? number_text("%.3f", 1e3 * choice.seconds) : ""});
  std::cout << "\n" << table.str();
}

graph::BuildOptions build_options(const Arguments& arguments) {
  graph::BuildOptions options;
  options.state = state_of(arguments, phase_of(arguments));
  options.backward = phase_of(arguments) == caffe::TRAIN;
  options.frozen = arguments.on("frozen");
  if (options.frozen && options.backward)
    throw usage_error("--frozen is for nets that do not train", "it goes with --phase=TEST");
  options.open_data = !arguments.on("no-data");
  options.transient_gradients = !arguments.on("launches");  // devices update all weights at the end
  options.recompute = arguments.on("recompute");
  options.keep = arguments.texts("keep");
  options.switch_off = arguments.texts("without");
  options.verify = arguments.on("verify-passes");
  return options;
}

/// What each pass does to the net. A dataset that cannot be opened is no obstacle: shapes that only it knows stay
/// unknown.
void show_passes(const std::shared_ptr<const NetFile>& file, graph::BuildOptions options, const std::string& last) try {
  graph::Graph graph = graph::build(file, options);
  show_reports(graph::run_passes(graph, last));
} catch (const Error& error) {
  const bool of_data = error.code() == ExitCode::kData || error.code() == ExitCode::kIo;
  if (!of_data || !options.open_data) throw;
  log_warning() << "Datasets are left out: " << error.mistakes()[0].message;
  options.open_data = false;
  show_passes(file, options, last);
}

void show_plan(const Arguments& arguments, graph::Graph graph, Context& context) {
  if (!all_shapes_known(graph))
    throw Error(ExitCode::kData, "a plan needs the shapes of the net's data",
                "--after=infer_shapes shows what is known without");
  if (wants_launches(arguments)) return show_launches(arguments, std::move(graph), context);
  if (arguments.on("tune")) measure_everything(context);
  std::cout << graph::to_text(graph::make_plan(std::move(graph), context));
  show_choices(context);
  if (arguments.on("tune")) save_choices(arguments, context);
}

int run_plan(const Arguments& arguments) {
  if (arguments.text("model").empty() && arguments.on("passes")) {
    list_passes();
    return 0;
  }
  const bool by_ranks = wants_ranks(arguments);
  if (!by_ranks) wants_launches(arguments);
  if (arguments.text("model").empty()) throw usage_error("--model=FILE is missing", "the net's prototxt");
  if (by_ranks) return plan_ranks(arguments);
  const auto file = with_batch(open_net(arguments.text("model"), overrides_of(arguments)), arguments.integer("batch"));
  CommandContext context(arguments);
  const graph::BuildOptions options = graph::options_for(build_options(arguments), context);
  const std::string after = arguments.text("after");
  if (arguments.on("passes")) {
    show_passes(file, options, after);
    return 0;
  }
  graph::Graph graph = graph::build(file, options);
  if (after != "build") graph::run_passes(graph, after);
  if (after.empty())
    show_plan(arguments, std::move(graph), context);
  else
    std::cout << graph::to_text(graph);
  return 0;
}

}  // namespace

Command plan_command() {
  Flag model = model_flag();
  model.required = false;  // --passes needs none
  model.help += "; with --ranks a solver's, too";
  return {
      .name = "plan",
      .summary = "shows what a net becomes, pass by pass, and where its memory lies",
      .flags = joined(
          {{model,
            set_flag(),
            phase_flag("TRAIN"),
            {.name = "after",
             .kind = FlagKind::kText,
             .value = "PASS",
             .help = "stop after this pass; 'build' is before the first"},
            {.name = "passes",
             .help = "each pass with its time and what it changed; without a net, the list of passes"},
            {.name = "verify-passes", .help = "check the graph after every pass, and the plan's memory"},
            {.name = "without", .kind = FlagKind::kText, .value = "PASS,...", .help = "optional passes to leave out"},
            {.name = "keep", .kind = FlagKind::kText, .value = "BLOB,...", .help = "blobs to stay readable"},
            batch_flag(),
            {.name = "launches",
             .help = "how often an iteration of training calls the device, and the bytes it moves, on --gpu=simulated"},
            json_flag(),
            {.name = "frozen", .help = "as infer and classify run it: the weights never change"},
            {.name = "no-data", .help = "do not open datasets"},
            tune_flag(),
            recompute_flag()},
           plan_ranks_flags(),
           state_flags(),
           device_flags()}),
      .operands = {},
      .examples = {{"cortado plan models/lenet/deploy.prototxt --phase=TEST",
                    "every step, its algorithm and its memory"},
                   {"cortado plan net.prototxt --after=fuse", "the graph once layers have taken over their followers"},
                   {"cortado plan models/resnet50/deploy.prototxt --phase=TEST --frozen --after=fuse",
                    "the same net as infer runs it: batch normalisation in the weights, sums in convolutions"},
                   {"cortado plan --gpu=simulated --precision=fp16 --launches net.prototxt",
                    "kernels, copies and bytes of an iteration, forward, backward and update"},
                   {"cortado plan --ranks=8 --bandwidth=10Gbit --latency=50us solver.prototxt",
                    "how long an iteration by eight machines would take, and what limits it"},
                   {"mpirun -n 2 cortado plan --measure solver.prototxt", "the same over the network between them"},
                   {"cortado plan --passes", "the passes in order"},
                   {"cortado plan --passes models/googlenet/train_val.prototxt", "what each of them does to a net"}},
      .run = run_plan};
}

}  // namespace cortado::tools
