#pragma once

// The checks of a solver's message, for solvers/config.cc only.

#include <algorithm>
#include <climits>
#include <cmath>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/files/file.h"
#include "core/process/program_path.h"
#include "proto/cortado.pb.h"
#include "solvers/field_checks.h"
#include "solvers/snapshot.h"

namespace cortado {

/// The valid range of a field.
struct FieldRange {
  const char* field;
  double least;
  const char* hint = "";
  double most = INFINITY;
};

inline constexpr FieldRange kFieldRanges[] = {
    {"max_iter", 0},
    {"max_epoch", 0},
    {"keep_last", 0},
    {"base_lr", 0},
    {"iter_size", 1},
    {"shards", 0, "", 1 << 16},
    {"local_steps", 1, "set 1 to exchange gradients in every iteration", 1 << 20},
    {"average_loss", 1},
    {"display", 0, "set 0 to log nothing"},
    {"snapshot", 0, "set 0 to write only the last snapshot"},
    {"test_interval", 0},
    {"momentum", 0},
    {"weight_decay", 0},
    {"min_lr", 0},
    {"warmup_iter", 0},
    {"warmup_start_lr", 0},
    {"rampup_interval", 0},
    {"rampup_lr", 0}};

inline double number_in(const caffe::SolverParameter& config, const google::protobuf::FieldDescriptor* field) {
  const auto* reflection = config.GetReflection();
  return field->cpp_type() == field->CPPTYPE_FLOAT ? double(reflection->GetFloat(config, field))
                                                   : double(reflection->GetInt32(config, field));
}

/// Checks a solver's message. Each check throws FieldError for the first error that it finds.
class SolverChecks {
 public:
  explicit SolverChecks(const caffe::SolverParameter& config) : config_(config) {
    const bool none = std::all_of(config.test_iter().begin(), config.test_iter().end(), [](int n) { return n == 0; });
    tests_ = described_test_nets() > 0 && (!none || config.test_iter_size() == 0);
  }

  void numbers() const {
    std::vector<const google::protobuf::FieldDescriptor*> fields;
    config_.GetReflection()->ListFields(config_, &fields);
    for (const auto* field : fields)
      if (field->cpp_type() == field->CPPTYPE_FLOAT && !field->is_repeated())
        refuse_if(!std::isfinite(number_in(config_, field)), field->name(), field->name() + " is not a finite number");
  }

  void range(const FieldRange& range) const {
    const double value = number_in(config_, config_.GetDescriptor()->FindFieldByName(range.field));
    if (!std::isfinite(value)) return;  // numbers() refuses it
    char text[64];
    std::snprintf(text, sizeof text, "%g, but must be at %s %g", value, value < range.least ? "least" : "most",
                  value < range.least ? range.least : range.most);
    refuse_if(!(value >= range.least && value <= range.most), range.field, std::string(range.field) + " is " + text,
              range.hint);
  }

  void train_net() const {
    const std::pair<const char*, bool> sources[] = {{"train_net_param", config_.has_train_net_param()},
                                                    {"train_net", config_.has_train_net()},
                                                    {"net_param", config_.has_net_param()},
                                                    {"net", config_.has_net()}};
    const char* first = nullptr;
    for (const auto& [name, given] : sources) {
      if (!given) continue;
      if (first)
        throw FieldError(name, std::string("both ") + first + " and " + name + " define the training net", "keep one");
      first = name;
    }
    refuse_if(!first, "net", "no training net", "add net: \"PATH\"");
  }

  void length() const {
    refuse_if(config_.max_epoch() > 0 && config_.has_max_iter(), "max_epoch",
              "both max_iter and max_epoch set the length of the training", "keep one");
  }

  /// Policies report a missing base_lr, too, but lr_policy itself may be missing.
  void base_lr() const {
    refuse_if(!config_.has_base_lr() && config_.lr_policy() != "multifixed", "base_lr", "base_lr is not set",
              "add base_lr: 0.01");
  }

  void clipping() const {
    refuse_if(config_.clip_gradients() == 0, "clip_gradients", "clip_gradients: 0 makes every gradient zero",
              "set a negative number to disable clipping");
  }

  void test_nets() const {
    const int nets = described_test_nets(), told = config_.test_iter_size(), states = config_.test_state_size();
    const auto for_nets = [&](int count, const char* what) {
      return std::to_string(count) + what + std::to_string(nets) + " test nets";
    };
    refuse_if(config_.test_epoch() && told > 0, "test_iter[0]",
              "both test_iter and test_epoch set the length of a test", "keep one");
    refuse_if(!config_.test_epoch() && told != nets, told > 0 ? "test_iter[0]" : "test_iter",
              for_nets(told, " test_iter for "), "set one test_iter for each test net");
    refuse_if(states > 0 && states != nets, "test_state[0]", for_nets(states, " test_state for "),
              "set one for each test net, or none");
    refuse_if(tests_ && config_.test_interval() <= 0,
              config_.has_test_interval() ? "test_interval"
              : named_test_nets() > 0     ? "test_net[0]"
              : config_.test_epoch()      ? "test_epoch"
                                          : "test_iter[0]",
              "there are test nets, but no test_interval", "add test_interval: 500, the iterations between tests");
    for (int i = 0; i < told; ++i)
      refuse_if(config_.test_iter(i) < 0, "test_iter[" + std::to_string(i) + "]",
                "test_iter is " + std::to_string(config_.test_iter(i)) + ", but must not be negative",
                "set 0 to skip this test net");
  }

  void layer_rates() const {
    const bool larc = config_.larc(), automatic = config_.local_lr_auto();
    refuse_if(larc && automatic, "local_lr_auto", "both larc and local_lr_auto set the rates of layers", "keep one");
    if (larc) check_known("larc_policy", config_.larc_policy(), {"scale", "clip"}, "use scale or clip");
    refuse_if(larc && config_.larc_eta() <= 0, "larc_eta", "larc_eta must be positive", "the default is 0.001");
    refuse_if(automatic && config_.local_gw_ratio() <= 0, "local_gw_ratio", "local_gw_ratio must be positive",
              "the default is 0.001");
  }

  void average() const {
    check_fraction("ema_decay", config_.ema_decay());
    refuse_if(config_.has_ema_warmup() && config_.ema_decay() == 0, "ema_warmup", "ema_warmup without ema_decay",
              "add ema_decay: 0.9999");
  }

  /// The number of shards and their device are known only when a training begins.
  void local_steps() const {
    if (config_.local_steps() <= 1) {
      for (const auto& [field, given] :
           {std::pair("outer_lr", config_.has_outer_lr()), std::pair("outer_momentum", config_.has_outer_momentum())})
        refuse_if(given, field, std::string(field) + " without local_steps", "add local_steps: 32, or leave it out");
      return;
    }
    refuse_if(config_.outer_lr() <= 0, "outer_lr", "outer_lr must be positive",
              "set outer_lr: 1 and outer_momentum: 0 to average weights");
    check_fraction("outer_momentum", config_.outer_momentum());
    refuse_if(config_.shards() == 1, "local_steps", "local_steps with shards: 1 has no effect",
              "set shards to 2 or more");
    refuse_if(config_.snapshot_diff(), "snapshot_diff",
              "snapshot_diff does not work with local_steps, because each shard has its own gradients");
    refuse_if(config_.larc() && config_.larc_turbo(), "larc_turbo",
              "larc_turbo does not work with local_steps, because each shard would have its own rates", "use larc");
    refuse_if(config_.lr_policy() == "plateau" && config_.plateau_metric().empty(), "lr_policy",
              "plateau does not work with local_steps, because the loss is known only after the updates",
              "set plateau_metric to a test score");
  }

  /// The names of scores are checked when the test nets are known.
  void metrics() const {
    for (const auto& [field, verb, given] :
         {std::tuple("plateau_metric", " needs a test score", !config_.plateau_metric().empty()),
          std::tuple("keep_best", " needs a test score", config_.has_keep_best()),
          std::tuple("early_stop", " needs a test score", config_.has_early_stop())})
      refuse_if(given && test_net_count() == 0, field, std::string(field) + verb + ", but no test net runs",
                "add test_iter and test_interval");
    if (!config_.has_early_stop()) return;
    refuse_if(config_.early_stop().patience() < 1, "early_stop.patience", "patience must be at least 1");
    refuse_if(!(config_.early_stop().min_delta() >= 0), "early_stop.min_delta", "min_delta must not be negative");
  }

  void regularization() const {
    const std::string& type = config_.regularization_type();
    refuse_if(type != "L2" && type != "L1", "regularization_type", "unknown regularization_type '" + type + "'",
              "use L2 or L1");
  }

  /// Checked here because names that are too long would otherwise fail only at the first snapshot.
  void snapshot_names() const {
    const std::string longest =
        snapshot_plan_of(config_).longest_path(config_.has_max_iter() ? config_.max_iter() : INT32_MAX);
    const size_t name = file_name_of(longest).size(), path = longest.size();
    const size_t over = std::max(name - std::min<size_t>(name, NAME_MAX), path - std::min<size_t>(path, PATH_MAX - 1));
    refuse_if(over > 0, "snapshot_prefix",
              "names of snapshot files would have up to " + std::to_string(name) + " bytes and paths " +
                  std::to_string(path) + " bytes; the system's limits are " + std::to_string(NAME_MAX) + " and " +
                  std::to_string(PATH_MAX - 1) + " bytes",
              "shorten the prefix by " + std::to_string(over) + " bytes");
  }

  void snapshots() const {
    refuse_if(
        config_.snapshot_format() == caffe::SolverParameter::HDF5 && companion_path("cortado-hdf5").empty(),
        "snapshot_format", "this program was built without HDF5: cortado-hdf5 is missing",
        "remove snapshot_format: HDF5, or apt install libhdf5-dev, then cmake --preset release && cmake --build build");
    if (config_.has_snapshot_every()) seconds_of_interval(config_.snapshot_every());
    snapshot_names();
  }

  /// Options of NVIDIA's and Intel's programs that change what is learned, so ignoring them would mislead.
  void foreign() const {
    const std::pair<const char*, bool> unsupported[] = {
        {"disabled_update", config_.disabled_update()},
        {"test_offset", config_.test_offset() != 0},
        {"solver_data_type", config_.solver_data_type() != caffe::FLOAT}};
    for (const auto& [field, used] : unsupported)
      refuse_if(used, field, std::string(field) + " is an option of another Caffe, which is not supported");
  }
  /// The number of test nets: one for each test_net_param and test_net, and net_param or net for the remaining entries
  /// of test_iter.
  int described_test_nets() const {
    const bool generic = config_.has_net_param() || config_.has_net();
    const int told = config_.test_epoch() ? std::max(1, config_.test_state_size()) : config_.test_iter_size();
    return generic ? std::max(named_test_nets(), told) : named_test_nets();
  }

  /// The number of test nets, or 0 if none of them runs a batch.
  int test_net_count() const { return tests_ ? described_test_nets() : 0; }

 private:
  int named_test_nets() const { return config_.test_net_param_size() + config_.test_net_size(); }

  const caffe::SolverParameter& config_;
  bool tests_;
};

}  // namespace cortado
