// `cortado plan`: the execution plan of a net, and the graph after any pass.
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

void list_passes(size_t columns) {
  Table table({"pass", "description"});
  for (const graph::Pass& pass : graph::all_passes())
    table.add({pass.name, pass.help + (pass.optional ? " (optional)" : "")});
  for (const FusionKind* kind : all_fusion_kinds()) table.add({"  " + kind->name, kind->help + " (optional)"});
  std::cout << table.str({}, columns);
}

void show_reports(const std::vector<graph::PassReport>& reports, size_t columns) {
  Table table({"pass", "ms", "change"});
  for (const graph::PassReport& report : reports)
    table.add({report.name, number_text("%.2f", 1e3 * report.seconds), report.change});
  std::cout << table.str({}, columns);
}

/// Shows the chosen kernel of each problem, how it was chosen, and its milliseconds if it was measured.
void show_choices(Context& context, size_t columns) {
  const auto& taken = context.handle<kernels::KernelCache>().recorded();
  if (taken.empty()) return;
  Table table({"problem", "kernel", "by", "ms"});
  for (const auto& [problem, choice] : taken)
    table.add({problem, choice.candidate, choice.origin,
               choice.seconds > 0 ? number_text("%.3f", 1e3 * choice.seconds) : ""});
  std::cout << "\n" << table.str({}, columns);
}

graph::BuildOptions build_options(const Arguments& arguments) {
  graph::BuildOptions options;
  options.state = state_of(arguments, phase_of(arguments));
  options.backward = phase_of(arguments) == caffe::TRAIN;
  options.frozen = arguments.on("frozen");
  if (options.frozen && options.backward) throw usage_error("--frozen requires --phase=TEST");
  options.open_data = !arguments.on("no-data");
  options.transient_gradients = !arguments.on("launches");  // devices update all weights at the end
  options.recompute = arguments.on("recompute");
  options.keep = arguments.texts("keep");
  options.switch_off = arguments.texts("without");
  options.verify = arguments.on("verify-passes");
  return options;
}

/// Shows the changes of each pass. Without an accessible dataset the shapes that it defines stay unknown.
void show_passes(const std::shared_ptr<const NetFile>& file, graph::BuildOptions options, const std::string& last,
                 size_t columns) try {
  graph::Graph graph = graph::build(file, options);
  show_reports(graph::run_passes(graph, last), columns);
} catch (const Error& error) {
  const bool of_data = error.code() == ExitCode::kData || error.code() == ExitCode::kIo;
  if (!of_data || !options.open_data) throw;
  log_warning() << "Planning without datasets: " << error.mistakes()[0].message;
  options.open_data = false;
  show_passes(file, options, last, columns);
}

void show_plan(const Arguments& arguments, graph::Graph graph, Context& context) {
  if (!all_shapes_known(graph))
    throw Error(ExitCode::kData, "a plan needs the shapes of the net's data",
                "use --after=infer_shapes to show the known shapes");
  if (wants_launches(arguments)) return show_launches(arguments, std::move(graph), context);
  if (arguments.on("tune")) measure_everything(context);
  std::cout << cut_lines(graph::to_text(graph::make_plan(std::move(graph), context)), columns_for(arguments));
  show_choices(context, columns_for(arguments));
  if (arguments.on("tune")) save_choices(arguments, context);
}

int run_plan(const Arguments& arguments) {
  if (arguments.text("model").empty() && arguments.on("passes")) {
    list_passes(columns_for(arguments));
    return 0;
  }
  const bool by_ranks = wants_ranks(arguments);
  if (!by_ranks) wants_launches(arguments);
  if (arguments.text("model").empty()) throw usage_error("--model=NET is required", "name the net's prototxt");
  if (by_ranks) return plan_ranks(arguments);
  const auto file = with_batch(open_model(arguments), arguments.integer("batch"));
  CommandContext context(arguments);
  const graph::BuildOptions options = graph::options_for(build_options(arguments), context);
  const std::string after = arguments.text("after");
  if (arguments.on("passes")) {
    show_passes(file, options, after, columns_for(arguments));
    return 0;
  }
  graph::Graph graph = graph::build(file, options);
  if (after != "build") graph::run_passes(graph, after);
  if (after.empty())
    show_plan(arguments, std::move(graph), context);
  else
    std::cout << cut_lines(graph::to_text(graph), columns_for(arguments));
  return 0;
}

}  // namespace

Command plan_command() {
  Flag model = with_note(model_flag(), "or with --ranks a solver's");
  model.required = false;  // --passes alone needs none
  return {
      .name = "plan",
      .summary = "Show a net's execution plan: passes, kernels and memory",
      .flags = joined(
          {{model,
            phase_flag("TRAIN"),
            batch_flag(),
            shape_flag(),
            {.name = "after",
             .kind = FlagKind::kText,
             .value = "PASS",
             .help = "stop after this pass and show the graph; 'build' is before the first"},
            {.name = "passes", .help = "show each pass with its time and changes; without a net, list the passes"},
            {.name = "frozen", .help = "plan as infer and classify do: weights never change"},
            no_data_flag(),
            wide_flag(),
            json_flag(),
            set_flag(),
            layer_flag()},
           advanced(
               {{.name = "verify-passes", .help = "check the graph after every pass, and the plan's memory"},
                {.name = "without",
                 .kind = FlagKind::kText,
                 .value = "PASS,...",
                 .help = "optional passes to leave out"},
                {.name = "keep", .kind = FlagKind::kText, .value = "BLOB,...", .help = "blobs that must stay readable"},
                {.name = "launches",
                 .help = "count kernel launches, copies and bytes of a training iteration, with --gpu=simulated"},
                tune_flag(),
                recompute_flag()}),
           plan_ranks_flags(),
           state_flags(),
           device_flags()}),
      .examples = {{"cortado plan models/lenet/deploy.prototxt --phase=TEST", "every step, its kernel and its memory"},
                   {"cortado plan net.prototxt --after=fuse", "the graph after layers are fused"},
                   {"cortado plan models/resnet50/deploy.prototxt --phase=TEST --frozen --after=fuse",
                    "as infer runs it: batch normalisation folded into the weights"},
                   {"cortado plan --gpu=simulated --precision=fp16 --launches net.prototxt",
                    "kernels, copies and bytes of an iteration"},
                   {"cortado plan --ranks=8 --bandwidth=10Gbit --latency=50us solver.prototxt",
                    "estimate an iteration on eight machines"},
                   {"mpirun -n 2 cortado plan --measure solver.prototxt", "the same, measured on the real network"},
                   {"cortado plan --passes", "list the passes"},
                   {"cortado plan --passes models/googlenet/train_val.prototxt", "what each pass does to a net"}},
      .run = run_plan};
}

}  // namespace cortado::tools
