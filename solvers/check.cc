#include "solvers/check.h"

#include <algorithm>
#include <climits>
#include <cmath>

#include "core/files/file.h"
#include "core/precision.h"
#include "core/process/program_path.h"
#include "solvers/average_precision.h"
#include "solvers/schedule.h"
#include "solvers/snapshot.h"
#include "solvers/snapshot_clock.h"
#include "solvers/update_rule.h"

namespace cortado {

namespace {

using Config = caffe::SolverParameter;

/// Runs one check after another; each throws FieldError for the first mistake it finds.
class Checker {
 public:
  Checker(const SolverFile& file, Mistakes& mistakes) : file_(file), mistakes_(mistakes) {}

  template <typename Check>
  void run(const Check& check) {
    try {
      check(file_.solver);
    } catch (const FieldError& error) {
      mistakes_.add(mistake_at(file_, error));
    }
  }

  /// The field's value is in [least, most].
  void range(const char* field, double value, double least, const char* hint = "", double most = INFINITY) {
    if (value >= least && value <= most) return;
    char text[64];
    std::snprintf(text, sizeof text, "%g, but must be at %s %g", value, value < least ? "least" : "most",
                  value < least ? least : most);
    mistakes_.add(mistake_at(file_, FieldError(field, std::string(field) + " is " + text, hint)));
  }

 private:
  const SolverFile& file_;
  Mistakes& mistakes_;
};

void check_finite_numbers(const Config& config) {
  const auto* reflection = config.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection->ListFields(config, &fields);
  for (const auto* field : fields)
    if (field->cpp_type() == field->CPPTYPE_FLOAT && !field->is_repeated() &&
        !std::isfinite(reflection->GetFloat(config, field)))
      throw FieldError(field->name(), field->name() + " is not a finite number");
}

void check_one_train_net(const Config& config) {
  const std::pair<const char*, bool> sources[] = {{"train_net_param", config.has_train_net_param()},
                                                  {"train_net", config.has_train_net()},
                                                  {"net_param", config.has_net_param()},
                                                  {"net", config.has_net()}};
  const char* first = nullptr;
  for (const auto& [name, given] : sources) {
    if (!given) continue;
    if (first)
      throw FieldError(name, std::string("both ") + first + " and " + name + " give the net to train", "keep one");
    first = name;
  }
  if (!first) throw FieldError("net", "no net to train", "add net: \"PATH\"");
}

int named_test_nets(const Config& config) { return config.test_net_param_size() + config.test_net_size(); }

/// Of count_test_nets(), whether or not they are to take a batch.
int described_test_nets(const Config& config) {
  const int named = named_test_nets(config);
  const bool generic = config.has_net_param() || config.has_net();
  const int told = config.test_epoch() ? std::max(1, config.test_state_size()) : config.test_iter_size();
  return generic ? std::max(named, told) : named;
}

void check_test_nets(const Config& config) {
  const int nets = described_test_nets(config), named = named_test_nets(config);
  if (config.test_epoch() && config.test_iter_size() > 0)
    throw FieldError("test_iter[0]", "both test_iter and test_epoch say how long a test is", "keep one");
  if (!config.test_epoch() && config.test_iter_size() != nets)
    throw FieldError(config.test_iter_size() > 0 ? "test_iter[0]" : "test_iter",
                     std::to_string(config.test_iter_size()) + " test_iter for " + std::to_string(nets) + " test nets",
                     "each test net takes one test_iter");
  if (config.test_state_size() > 0 && config.test_state_size() != nets)
    throw FieldError(
        "test_state[0]",
        std::to_string(config.test_state_size()) + " test_state for " + std::to_string(nets) + " test nets",
        "give one for each test net, or none");
  if (count_test_nets(config) > 0 && config.test_interval() <= 0)
    throw FieldError(config.has_test_interval() ? "test_interval"
                     : named > 0                ? "test_net[0]"
                     : config.test_epoch()      ? "test_epoch"
                                                : "test_iter[0]",
                     "there is something to test, but no test_interval", "every how many iterations?");
  for (int i = 0; i < config.test_iter_size(); ++i)
    if (config.test_iter(i) < 0)
      throw FieldError("test_iter[" + std::to_string(i) + "]",
                       "test_iter is " + std::to_string(config.test_iter(i)) + ", and counts batches",
                       "0 tests nothing");
}

void check_rule(const Config& config) {
  std::vector<std::string> names;
  std::string list;
  for (const UpdateRule* rule : all_update_rules()) {
    names.push_back(rule->name);
    list += (list.empty() ? "one of " : ", ") + rule->name;
  }
  const UpdateRule* rule = find_update_rule(config.type());
  const std::string guess = did_you_mean(config.type(), names);
  if (!rule) throw FieldError("type", "unknown solver type '" + config.type() + "'", guess.empty() ? list : guess);
  rule->check(config);
}

void check_layer_rates(const Config& config) {
  if (config.larc() && config.local_lr_auto())
    throw FieldError("local_lr_auto", "both larc and local_lr_auto give each layer its rate", "keep one");
  if (config.larc() && config.larc_policy() != "scale" && config.larc_policy() != "clip") {
    const std::string guess = did_you_mean(config.larc_policy(), {"scale", "clip"});
    throw FieldError("larc_policy", "unknown larc_policy '" + config.larc_policy() + "'",
                     guess.empty() ? "scale or clip" : guess);
  }
  if (config.larc() && config.larc_eta() <= 0)
    throw FieldError("larc_eta", "larc_eta must be positive", "the default is 0.001");
  if (config.local_lr_auto() && config.local_gw_ratio() <= 0)
    throw FieldError("local_gw_ratio", "local_gw_ratio must be positive", "the default is 0.001");
}

void check_average(const Config& config) {
  check_fraction("ema_decay", config.ema_decay());
  if (config.has_ema_warmup() && config.ema_decay() == 0)
    throw FieldError("ema_warmup", "ema_warmup without ema_decay", "add ema_decay: 0.9999");
}

/// Whether there are several shards, and where they run, is known once a training begins.
void check_local_steps(const Config& config) {
  if (config.local_steps() <= 1) {
    for (const auto& [field, given] :
         {std::pair("outer_lr", config.has_outer_lr()), std::pair("outer_momentum", config.has_outer_momentum())})
      if (given)
        throw FieldError(field, std::string(field) + " without local_steps", "add local_steps: 32, or leave it out");
    return;
  }
  if (config.outer_lr() <= 0)
    throw FieldError("outer_lr", "outer_lr must be positive", "with 1, and outer_momentum: 0, weights are averaged");
  check_fraction("outer_momentum", config.outer_momentum());
  if (config.shards() == 1)
    throw FieldError("local_steps", "local_steps of one shard, whose changes meet no others'", "more shards");
  if (config.snapshot_diff())
    throw FieldError("snapshot_diff", "with local_steps every shard has gradients of its own: there are none to write");
  if (config.larc() && config.larc_turbo())
    throw FieldError("larc_turbo", "with local_steps every shard would remember rates of its own", "larc works");
  if (config.lr_policy() == "plateau" && config.plateau_metric().empty())
    throw FieldError("lr_policy", "with local_steps the loss is known after the updates that it would give the rate",
                     "plateau_metric looks at a test score");
}

/// Scores themselves are known once the test nets are.
void check_metrics(const Config& config) {
  const bool tests = count_test_nets(config) > 0;
  if (!config.plateau_metric().empty() && !tests)
    throw FieldError("plateau_metric", "plateau_metric is a test score, and nothing is tested",
                     "add test_iter and test_interval");
  if (config.has_keep_best() && !tests)
    throw FieldError("keep_best", "keep_best looks at a test score, and nothing is tested",
                     "add test_iter and test_interval");
  if (!config.has_early_stop()) return;
  if (!tests)
    throw FieldError("early_stop", "early_stop looks at a test score, and nothing is tested",
                     "add test_iter and test_interval");
  if (config.early_stop().patience() < 1) throw FieldError("early_stop.patience", "patience must be at least 1");
  if (!(config.early_stop().min_delta() >= 0))
    throw FieldError("early_stop.min_delta", "min_delta must not be negative");
}

void check_regularization(const Config& config) {
  const std::string& type = config.regularization_type();
  if (type == "L2" || type == "L1") return;
  throw FieldError("regularization_type", "unknown regularization_type '" + type + "'", "L2 or L1");
}

/// What no file system keeps would only be found out with the first snapshot, and all of them be lost.
void check_snapshot_names(const Config& config) {
  const std::string longest = longest_snapshot_path(config);
  const size_t name = file_name_of(longest).size(), path = longest.size();
  const size_t over = std::max(name - std::min<size_t>(name, NAME_MAX), path - std::min<size_t>(path, PATH_MAX - 1));
  if (over == 0) return;
  throw FieldError("snapshot_prefix",
                   "the files of snapshots would have names of up to " + std::to_string(name) + " bytes and paths of " +
                       std::to_string(path) + "; " + std::to_string(NAME_MAX) + " and " + std::to_string(PATH_MAX - 1) +
                       " are the most that the system keeps",
                   "make the prefix " + std::to_string(over) + " bytes shorter");
}

void check_snapshots(const Config& config) {
  if (config.snapshot_format() == Config::HDF5 && companion_path("cortado-hdf5").empty())
    throw FieldError(
        "snapshot_format", "this program was built without HDF5: there is no cortado-hdf5 beside it",
        "remove snapshot_format: HDF5, or apt install libhdf5-dev, then cmake --preset release && cmake --build build");
  if (config.has_snapshot_every()) seconds_of_interval(config.snapshot_every());
  check_snapshot_names(config);
}

/// Options of NVIDIA's and Intel's programs that change what is learned: training on without them would mislead.
void check_foreign(const Config& config) {
  const std::pair<const char*, bool> unsupported[] = {
      {"disabled_update", config.disabled_update()},
      {"test_offset", config.test_offset() != 0},
      {"solver_data_type", config.solver_data_type() != caffe::FLOAT},
  };
  for (const auto& [field, used] : unsupported)
    if (used)
      throw FieldError(field, "this option of another Caffe is not supported, and would change what is learned");
}

void check_length(const Config& config) {
  if (config.max_epoch() > 0 && config.has_max_iter())
    throw FieldError("max_epoch", "both max_iter and max_epoch say how long to train", "keep one");
}

/// Other policies say that they need it; this one may be missing itself.
void check_base_lr(const Config& config) {
  if (!config.has_base_lr() && config.lr_policy() != "multifixed")
    throw FieldError("base_lr", "no base_lr: how fast to learn?", "add base_lr: 0.01");
}

}  // namespace

Mistake mistake_at(const SolverFile& file, const FieldError& error) {
  return {file.positions.place(error.field()), error.message(), error.hint(), {}};
}

std::vector<Mistake> solver_warnings(const SolverFile& file) {
  const Config& config = file.solver;
  std::vector<Mistake> warnings;
  if (!config.has_max_iter() && config.max_epoch() <= 0)
    warnings.push_back(mistake_at(
        file, FieldError("max_iter", "no max_iter: training ends before the first iteration", "add max_iter: 10000")));
  // "detection" says what becomes of a DetectionEvaluate layer's results, and nothing to nets without one.
  if (const std::string& type = config.eval_type(); type != "classification" && type != "detection")
    warnings.push_back(
        mistake_at(file, FieldError("eval_type", "unknown eval_type '" + type + "': tests tell the mean of each score",
                                    did_you_mean(type, {"classification", "detection"}))));
  if (config.test_interval() > 0 && described_test_nets(config) == 0)
    warnings.push_back(mistake_at(file, FieldError("test_interval", "there is a test_interval, but nothing is tested",
                                                   "test_iter says how many batches a test takes")));
  return warnings;
}

int count_test_nets(const Config& solver) {
  const auto& batches = solver.test_iter();
  const bool none = std::all_of(batches.begin(), batches.end(), [](int count) { return count == 0; });
  return !batches.empty() && none ? 0 : described_test_nets(solver);
}

void require_valid(const SolverFile& file) {
  Mistakes mistakes;
  check_solver(file, mistakes);
  mistakes.throw_if_any(ExitCode::kNet);
}

void check_solver(const SolverFile& file, Mistakes& mistakes) {
  const Config& config = file.solver;
  Checker checker(file, mistakes);
  checker.run(check_finite_numbers);
  checker.run([](const Config& c) { precision_named(c.precision()); });
  checker.run(check_one_train_net);
  checker.run(check_length);
  checker.run(check_base_lr);
  checker.range("max_iter", config.max_iter(), 0);
  checker.range("max_epoch", config.max_epoch(), 0);
  checker.range("keep_last", config.keep_last(), 0);
  checker.range("base_lr", config.base_lr(), 0);
  checker.range("iter_size", config.iter_size(), 1);
  checker.range("shards", config.shards(), 0, "", 1 << 16);
  checker.range("local_steps", config.local_steps(), 1, "1 exchanges gradients in every iteration", 1 << 20);
  checker.range("average_loss", config.average_loss(), 1);
  checker.range("display", config.display(), 0, "0 shows nothing");
  checker.range("snapshot", config.snapshot(), 0, "0 writes only the last snapshot");
  checker.range("test_interval", config.test_interval(), 0);
  checker.range("momentum", config.momentum(), 0);
  checker.range("weight_decay", config.weight_decay(), 0);
  checker.range("min_lr", config.min_lr(), 0);
  checker.range("warmup_iter", config.warmup_iter(), 0);
  checker.range("warmup_start_lr", config.warmup_start_lr(), 0);
  checker.range("rampup_interval", config.rampup_interval(), 0);
  checker.range("rampup_lr", config.rampup_lr(), 0);
  if (config.clip_gradients() == 0)
    mistakes.add(mistake_at(file, FieldError("clip_gradients", "clip_gradients: 0 makes every gradient zero",
                                             "a negative number turns clipping off")));
  checker.run(check_test_nets);
  if (config.has_base_lr() || config.lr_policy() == "multifixed" || config.lr_policy().empty())
    checker.run([](const Config& c) { checked_lr_policy(c); });
  checker.run(check_warmup);
  checker.run(check_momentum_policy);
  checker.run(check_weight_decay_policy);
  checker.run(check_layer_rates);
  checker.run(check_average);
  checker.run(check_metrics);
  checker.run(check_local_steps);
  checker.run([](const Config& c) { ap_version_of(c.ap_version()); });
  checker.run(check_rule);
  checker.run(check_regularization);
  checker.run(check_snapshots);
  checker.run(check_foreign);
}

}  // namespace cortado
