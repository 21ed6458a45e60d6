#include "tools/net/plan_launches.h"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/text/json.h"
#include "ranks/launch.h"
#include "solvers/config.h"
#include "solvers/iteration_cost.h"
#include "solvers/rank_start.h"
#include "solvers/solver_nets.h"
#include "tools/options/kernel_choices.h"
#include "tools/options/net_file.h"
#include "tools/options/rank_options.h"
#include "tools/options/run_options.h"
#include "tools/output/terminal.h"
#include "tools/output/units.h"

namespace cortado::tools {

namespace {

using nlohmann::ordered_json;

constexpr double kPlanLaunchesMega = 1e6;

std::string megabytes(int64_t bytes) { return number_text("%.2f", double(bytes) / kPlanLaunchesMega); }

/// The batch size of the first blob.
int64_t batch_of(const graph::Graph& graph) {
  for (const graph::Value& value : graph.values)
    if (value.shape.axes() > 0) return value.shape[0];
  return 0;
}

/// Memory traffic for each image. The update's part is left out, because it does not grow with the batch.
double megabytes_an_image(const IterationCost& cost, int64_t batch) {
  Traffic passes = cost.traffic;
  for (const StepCost& step : cost.steps)
    if (step.call == "update") passes += {-step.traffic.read, -step.traffic.written};
  return batch > 0 ? double(passes.read + passes.written) / double(batch) / kPlanLaunchesMega : 0;
}

ordered_json step_cost_json(const StepCost& step) {
  ordered_json json = {{"call", step.call}};
  if (!step.layer.empty()) json.update({{"type", step.type}, {"layer", step.layer}});
  json.update({{"launches", step.launches},
               {"bytes_read", step.traffic.read},
               {"bytes_written", step.traffic.written},
               {"by_operands", step.by_operands}});
  return json;
}

void print_json(const IterationCost& cost, int64_t batch) {
  ordered_json json = {{"launches", cost.launches},
                       {"bytes_read", cost.traffic.read},
                       {"bytes_written", cost.traffic.written},
                       {"batch", batch},
                       {"megabytes_per_image", megabytes_an_image(cost, batch)},
                       {"steps", ordered_json::array()}};
  for (const StepCost& step : cost.steps) json["steps"].push_back(step_cost_json(step));
  std::cout << dumped_json(json, 2) << "\n";
}

void print_table(const IterationCost& cost, int64_t batch, size_t columns) {
  Table table({"step", "type", "layer", "launches", "MB read", "MB written"});
  bool by_operands = false;
  for (const StepCost& step : cost.steps) {
    by_operands |= step.by_operands;
    table.add({step.call, step.type, step.layer, std::to_string(step.launches),
               megabytes(step.traffic.read) + (step.by_operands ? "*" : " "), megabytes(step.traffic.written)});
  }
  std::cout << table.str({3, 4, 5}, columns);
  if (by_operands)
    std::cout << "* operands counted once each, because a kernel of the step does not report its memory traffic\n";
  std::cout << cost.launches << " launches an iteration, " << megabytes(cost.traffic.read) << " MB read, "
            << megabytes(cost.traffic.written) << " MB written; without the update "
            << number_text("%.2f", megabytes_an_image(cost, batch)) << " MB for each of " << batch << "\n";
}

}  // namespace

bool wants_launches(const Arguments& arguments) {
  if (!arguments.on("launches")) {
    if (arguments.on("json")) throw usage_error("--json goes with --launches and --ranks", "add --launches or --ranks");
    return false;
  }
  if (arguments.text("gpu") != "simulated")
    throw usage_error("--launches counts on the simulated device", "add --gpu=simulated");
  if (phase_of(arguments) != caffe::TRAIN || !arguments.text("after").empty() || arguments.on("passes"))
    throw usage_error("--launches needs a whole iteration of training", "leave out --phase=TEST, --after and --passes");
  return true;
}

void show_launches(const Arguments& arguments, graph::Graph graph, Context& context) {
  const int64_t batch = batch_of(graph);
  Net net(graph::make_plan(std::move(graph), context), context);
  const IterationCost cost = iteration_cost(iteration_plan_of({}), net);
  if (arguments.on("json"))
    print_json(cost, batch);
  else
    print_table(cost, batch, columns_for(arguments));
}

namespace {

using nlohmann::ordered_json;

constexpr double kPlanRanksMega = 1e6;

/// The training to estimate, and its numbers of ranks and shards.
struct Training {
  std::unique_ptr<Net> net;
  int ranks;
  int64_t shards, passes_of_shard;
  bool local_steps = false;  ///< gradients are exchanged after the last of them

  /// Passes of the rank with the most shards.
  int64_t passes() const { return (shards + ranks - 1) / ranks * passes_of_shard; }
};

struct Answer {
  ranks::Network network;
  ranks::IterationEstimate foretold;
};

/// Of a solver, with its net and shards.
Training open_training(const Arguments& arguments, SolverFile file, int ranks, Context& context) {
  SolverOptions options;
  options.state = state_of(arguments, caffe::TRAIN);
  options.state.clear_phase();
  options.overrides = overrides_of(arguments);
  options.recompute = arguments.on("recompute");
  options.overrides.apply(file);
  SolverConfig config = parse_solver(std::move(file));
  const int64_t shards = config.iteration.shards > 0 ? config.iteration.shards : ranks;
  check_shards(ranks, shards);
  config.set_shards(int(shards));
  SolverNetFile net = SolverNetReader(config, options, context).train();
  net.file = with_batch(std::move(net.file), arguments.integer("batch"));
  return {make_net(net.file, net.options, context), ranks, shards, config.iteration.passes_of_shard(),
          config.iteration.local_steps > 1};
}

/// Of a net, trained by as many shards as ranks.
Training open_training(const Arguments& arguments, std::shared_ptr<const NetFile> file, int ranks, Context& context) {
  graph::BuildOptions options;
  options.state = state_of(arguments, caffe::TRAIN);
  options.backward = true;
  options.recompute = arguments.on("recompute");
  check_shards(ranks, ranks);
  return {make_net(with_batch(std::move(file), arguments.integer("batch")), options, context), ranks, ranks, 1};
}

Training open_training(const Arguments& arguments, int ranks, Context& context) {
  const Measuring measuring(arguments, context);
  const std::string path = arguments.text("model");
  Training training = is_solver_file(path)
                          ? open_training(arguments, open_solver(path), ranks, context)
                          : open_training(arguments, open_net(path, overrides_of(arguments)), ranks, context);
  if (training.net->params().empty())
    throw Error(ExitCode::kNet, path + ": nothing learns in this net, so ranks exchange nothing",
                "use a training net, which has a loss");
  return training;
}

/// The elementwise maximum: an iteration is as slow as its slowest rank.
PassTimes slowest(ranks::Engine& engine, PassTimes times) {
  std::vector<double> own = {times.forward, times.backward};
  own.insert(own.end(), times.complete.begin(), times.complete.end());
  std::vector<double> all(size_t(engine.ranks()) * own.size());
  std::copy(own.begin(), own.end(), all.begin() + std::ptrdiff_t(size_t(engine.rank()) * own.size()));
  std::vector<size_t> at = {0};
  for (int rank = 0; rank < engine.ranks(); ++rank) at.push_back(at.back() + own.size() * sizeof(double));
  engine.all_gather(reinterpret_cast<std::byte*>(all.data()), at);
  for (size_t i = 0; i < all.size(); ++i) own[i % own.size()] = std::max(own[i % own.size()], all[i]);
  times.forward = own[0];
  times.backward = own[1];
  times.complete.assign(own.begin() + 2, own.end());
  return times;
}

/// The exchange starts in the backward pass of a rank's last shard. Statistics that layers update themselves are
/// exchanged last.
ranks::IterationEstimate estimate(const ranks::Network& network, Training& training, const PassTimes& times) {
  const double compute = double(training.passes()) * (times.forward + times.backward);
  const std::vector<ranks::FloatRange> parts = gradient_parts(*training.net);
  std::vector<ranks::ReadyPart> ready;
  for (size_t i = 0; i < parts.size(); ++i)
    ready.push_back({parts[parts.size() - 1 - i].count() * int64_t(sizeof(float)),
                     training.local_steps ? compute : compute - times.backward + times.complete[i]});
  int64_t kept = 0;
  for (const KeptWeight& weight : training.net->kept_weights()) kept += weight.count * int64_t(sizeof(float));
  if (kept > 0) ready.push_back({kept, compute});
  return ranks::estimate(network, training.ranks, training.shards, ready, compute);
}

const char* name_of(ranks::Limit limit) {
  switch (limit) {
    case ranks::Limit::kCompute:
      return "compute";
    case ranks::Limit::kBandwidth:
      return "bandwidth";
    case ranks::Limit::kLatency:
      return "latency";
  }
  return "";
}

std::string milliseconds_of(double seconds) { return number_text("%.2f", 1e3 * seconds); }

void print_ranks_table(const Training& training, const Answer& answer) {
  const ranks::IterationEstimate& foretold = answer.foretold;
  Table table({"part", "MB", "ready ms", "finish ms"});
  for (size_t i = 0; i < foretold.parts.size(); ++i) {
    const ranks::ForetoldPart& part = foretold.parts[i];
    table.add({std::to_string(i + 1), number_text("%.3f", double(part.bytes) / kPlanRanksMega),
               milliseconds_of(part.ready), milliseconds_of(part.finish)});
  }
  std::cout << table.str({0, 1, 2, 3}) << training.ranks << " ranks, " << training.shards << " shards of "
            << training.passes_of_shard << " x " << training.net->batch_size() << "; network "
            << bandwidth_text(answer.network.bandwidth) << ", " << seconds_text(answer.network.latency) << "\n"
            << "compute " << milliseconds_of(foretold.compute) << " ms, exchange " << milliseconds_of(foretold.exchange)
            << " ms, step " << milliseconds_of(foretold.step) << " ms: efficiency "
            << number_text("%.1f", 100 * foretold.efficiency()) << " %, limited by " << name_of(foretold.limit) << "\n";
  if (foretold.local_steps > 1)
    std::cout << "90 % efficiency needs " << foretold.local_steps << " local steps between exchanges\n";
}

void print_ranks_json(const Training& training, const Answer& answer) {
  const ranks::IterationEstimate& foretold = answer.foretold;
  ordered_json json = {{"ranks", training.ranks},
                       {"shards", training.shards},
                       {"passes", training.passes()},
                       {"batch", training.net->batch_size()},
                       {"bandwidth_bits_per_second", 8 * answer.network.bandwidth},
                       {"latency_us", 1e6 * answer.network.latency},
                       {"parts", ordered_json::array()},
                       {"compute_ms", 1e3 * foretold.compute},
                       {"exchange_ms", 1e3 * foretold.exchange},
                       {"step_ms", 1e3 * foretold.step},
                       {"efficiency", foretold.efficiency()},
                       {"limited_by", name_of(foretold.limit)},
                       {"local_steps_for_90_percent", foretold.local_steps}};
  for (const ranks::ForetoldPart& part : foretold.parts)
    json["parts"].push_back({{"bytes", part.bytes}, {"ready_ms", 1e3 * part.ready}, {"finish_ms", 1e3 * part.finish}});
  std::cout << json.dump(2) << "\n";
}

int plan_as(const RankRole& role, const Arguments& arguments) {
  CommandContext context(arguments, DeviceDefaults{.processes = role.processes_here});
  Training training =
      open_training(arguments, role.engine ? role.engine->ranks() : int(arguments.integer("ranks")), context);
  PassTimes times = measure_passes(*training.net);
  if (role.engine) times = slowest(*role.engine, std::move(times));
  Answer answer;
  answer.network = role.engine ? ranks::measure_network(*role.engine)
                               : ranks::Network{seconds_of(arguments, "latency"), bandwidth_of(arguments, "bandwidth"),
                                                ranks::kTcpPayload};
  answer.foretold = estimate(answer.network, training, times);
  if (!role.is_first()) return 0;
  if (arguments.on("json"))
    print_ranks_json(training, answer);
  else
    print_ranks_table(training, answer);
  return 0;
}

}  // namespace

std::vector<Flag> plan_ranks_flags() {
  Flag ranks = with_note(ranks_flag(), "estimates an iteration over a network");
  ranks.least = 2;
  return joined({in_group("Rank", advanced({ranks,
                                            {.name = "bandwidth",
                                             .kind = FlagKind::kText,
                                             .value = "RATE",
                                             .help = "of each machine's link, each way, as 1Gbit or 400Mbit"},
                                            {.name = "latency",
                                             .kind = FlagKind::kText,
                                             .value = "TIME",
                                             .help = "of a message, as 50us or 2ms",
                                             .fallback = "50us"},
                                            {.name = "measure",
                                             .help = "measure the network, between --ranks processes or those that "
                                                     "mpirun or srun started"}})),
                 engine_flags()});
}

bool wants_ranks(const Arguments& arguments) {
  const bool measures = arguments.on("measure"), given = arguments.has("bandwidth") || arguments.has("latency");
  if (!measures && !given && !arguments.has("ranks")) return false;
  if (measures && given) throw usage_error("--measure excludes --bandwidth and --latency");
  if (!measures && !arguments.has("ranks"))
    throw usage_error("--bandwidth and --latency require --ranks", "add the number of processes, as --ranks=8");
  if (!measures && !arguments.has("bandwidth"))
    throw usage_error("--ranks requires --bandwidth or --measure", "add --bandwidth=10Gbit --latency=50us");
  if (phase_of(arguments) != caffe::TRAIN || !arguments.text("after").empty() || arguments.on("passes") ||
      arguments.on("launches"))
    throw usage_error("--ranks excludes --phase=TEST, --after, --passes and --launches");
  if (given) bandwidth_of(arguments, "bandwidth"), seconds_of(arguments, "latency");
  return true;
}

int plan_ranks(const Arguments& arguments) {
  if (!arguments.on("measure")) return plan_as({}, arguments);
  if (starts_ranks(arguments)) return run_ranks(arguments);
  return run_as_rank(arguments, [&](const RankRole& role) {
    if (!role.engine)
      throw usage_error("--measure requires several processes",
                        "add --ranks=4, or run mpirun -n 4 cortado plan --measure ...");
    return plan_as(role, arguments);
  });
}

}  // namespace cortado::tools
