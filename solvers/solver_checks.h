#pragma once

// What is checked of a solver's message, for solvers/config.cc alone.

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

/// Of a field's value.
struct FieldRange {
  const char* field;
  double least;
  const char* hint = "";
  double most = INFINITY;
};

inline constexpr FieldRange kFieldRanges[] = {{"max_iter", 0},
                                              {"max_epoch", 0},
                                              {"keep_last", 0},
                                              {"base_lr", 0},
                                              {"iter_size", 1},
                                              {"shards", 0, "", 1 << 16},
                                              {"local_steps", 1, "1 exchanges gradients in every iteration", 1 << 20},
                                              {"average_loss", 1},
                                              {"display", 0, "0 shows nothing"},
                                              {"snapshot", 0, "0 writes only the last snapshot"},
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

/// A solver's message as its checks look at it. Each check throws FieldError for the first mistake that it finds.
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
        throw FieldError(name, std::string("both ") + first + " and " + name + " give the net to train", "keep one");
      first = name;
    }
    refuse_if(!first, "net", "no net to train", "add net: \"PATH\"");
  }

  void length() const {
    refuse_if(config_.max_epoch() > 0 && config_.has_max_iter(), "max_epoch",
              "both max_iter and max_epoch say how long to train", "keep one");
  }

  /// Other policies say that they need it; this one may be missing itself.
  void base_lr() const {
    refuse_if(!config_.has_base_lr() && config_.lr_policy() != "multifixed", "base_lr", "base_lr is not set",
              "add base_lr: 0.01");
  }

  void clipping() const {
    refuse_if(config_.clip_gradients() == 0, "clip_gradients", "clip_gradients: 0 makes every gradient zero",
              "a negative number turns clipping off");
  }

  void test_nets() const {
    const int nets = described_test_nets(), told = config_.test_iter_size(), states = config_.test_state_size();
    const auto for_nets = [&](int count, const char* what) {
      return std::to_string(count) + what + std::to_string(nets) + " test nets";
    };
    refuse_if(config_.test_epoch() && told > 0, "test_iter[0]", "both test_iter and test_epoch say how long a test is",
              "keep one");
    refuse_if(!config_.test_epoch() && told != nets, told > 0 ? "test_iter[0]" : "test_iter",
              for_nets(told, " test_iter for "), "each test net takes one test_iter");
    refuse_if(states > 0 && states != nets, "test_state[0]", for_nets(states, " test_state for "),
              "give one for each test net, or none");
    refuse_if(tests_ && config_.test_interval() <= 0,
              config_.has_test_interval() ? "test_interval"
              : named_test_nets() > 0     ? "test_net[0]"
              : config_.test_epoch()      ? "test_epoch"
                                          : "test_iter[0]",
              "there is something to test, but no test_interval", "every how many iterations?");
    for (int i = 0; i < told; ++i)
      refuse_if(config_.test_iter(i) < 0, "test_iter[" + std::to_string(i) + "]",
                "test_iter is " + std::to_string(config_.test_iter(i)) + ", and counts batches", "0 tests nothing");
  }

  void layer_rates() const {
    const bool larc = config_.larc(), automatic = config_.local_lr_auto();
    refuse_if(larc && automatic, "local_lr_auto", "both larc and local_lr_auto give each layer its rate", "keep one");
    if (larc) check_known("larc_policy", config_.larc_policy(), {"scale", "clip"}, "scale or clip");
    refuse_if(larc && config_.larc_eta() <= 0, "larc_eta", "larc_eta must be positive", "the default is 0.001");
    refuse_if(automatic && config_.local_gw_ratio() <= 0, "local_gw_ratio", "local_gw_ratio must be positive",
              "the default is 0.001");
  }

  void average() const {
    check_fraction("ema_decay", config_.ema_decay());
    refuse_if(config_.has_ema_warmup() && config_.ema_decay() == 0, "ema_warmup", "ema_warmup without ema_decay",
              "add ema_decay: 0.9999");
  }

  /// Whether there are several shards, and where they run, is known once a training begins.
  void local_steps() const {
    if (config_.local_steps() <= 1) {
      for (const auto& [field, given] :
           {std::pair("outer_lr", config_.has_outer_lr()), std::pair("outer_momentum", config_.has_outer_momentum())})
        refuse_if(given, field, std::string(field) + " without local_steps", "add local_steps: 32, or leave it out");
      return;
    }
    refuse_if(config_.outer_lr() <= 0, "outer_lr", "outer_lr must be positive",
              "with 1, and outer_momentum: 0, weights are averaged");
    check_fraction("outer_momentum", config_.outer_momentum());
    refuse_if(config_.shards() == 1, "local_steps", "local_steps of one shard, whose changes meet no others'",
              "more shards");
    refuse_if(config_.snapshot_diff(), "snapshot_diff",
              "with local_steps every shard has gradients of its own: there are none to write");
    refuse_if(config_.larc() && config_.larc_turbo(), "larc_turbo",
              "with local_steps every shard would remember rates of its own", "larc works");
    refuse_if(config_.lr_policy() == "plateau" && config_.plateau_metric().empty(), "lr_policy",
              "with local_steps the loss is known after the updates that it would give the rate",
              "plateau_metric looks at a test score");
  }

  /// Scores themselves are known once the test nets are.
  void metrics() const {
    for (const auto& [field, verb, given] :
         {std::tuple("plateau_metric", " is a test score", !config_.plateau_metric().empty()),
          std::tuple("keep_best", " looks at a test score", config_.has_keep_best()),
          std::tuple("early_stop", " looks at a test score", config_.has_early_stop())})
      refuse_if(given && test_net_count() == 0, field, std::string(field) + verb + ", and nothing is tested",
                "add test_iter and test_interval");
    if (!config_.has_early_stop()) return;
    refuse_if(config_.early_stop().patience() < 1, "early_stop.patience", "patience must be at least 1");
    refuse_if(!(config_.early_stop().min_delta() >= 0), "early_stop.min_delta", "min_delta must not be negative");
  }

  void regularization() const {
    const std::string& type = config_.regularization_type();
    refuse_if(type != "L2" && type != "L1", "regularization_type", "unknown regularization_type '" + type + "'",
              "L2 or L1");
  }

  /// What no file system keeps would only be found out with the first snapshot, and all of them be lost.
  void snapshot_names() const {
    const std::string longest =
        snapshot_plan_of(config_).longest_path(config_.has_max_iter() ? config_.max_iter() : INT32_MAX);
    const size_t name = file_name_of(longest).size(), path = longest.size();
    const size_t over = std::max(name - std::min<size_t>(name, NAME_MAX), path - std::min<size_t>(path, PATH_MAX - 1));
    refuse_if(over > 0, "snapshot_prefix",
              "the files of snapshots would have names of up to " + std::to_string(name) + " bytes and paths of " +
                  std::to_string(path) + "; " + std::to_string(NAME_MAX) + " and " + std::to_string(PATH_MAX - 1) +
                  " are the most that the system keeps",
              "make the prefix " + std::to_string(over) + " bytes shorter");
  }

  void snapshots() const {
    refuse_if(
        config_.snapshot_format() == caffe::SolverParameter::HDF5 && companion_path("cortado-hdf5").empty(),
        "snapshot_format", "this program was built without HDF5: there is no cortado-hdf5 beside it",
        "remove snapshot_format: HDF5, or apt install libhdf5-dev, then cmake --preset release && cmake --build build");
    if (config_.has_snapshot_every()) seconds_of_interval(config_.snapshot_every());
    snapshot_names();
  }

  /// Options of NVIDIA's and Intel's programs that change what is learned: training on without them would mislead.
  void foreign() const {
    const std::pair<const char*, bool> unsupported[] = {
        {"disabled_update", config_.disabled_update()},
        {"test_offset", config_.test_offset() != 0},
        {"solver_data_type", config_.solver_data_type() != caffe::FLOAT}};
    for (const auto& [field, used] : unsupported)
      refuse_if(used, field, "this option of another Caffe is not supported, and would change what is learned");
  }
  /// One for each test_net_param and test_net, and as many of net_param or net as test_iter has entries left.
  int described_test_nets() const {
    const bool generic = config_.has_net_param() || config_.has_net();
    const int told = config_.test_epoch() ? std::max(1, config_.test_state_size()) : config_.test_iter_size();
    return generic ? std::max(named_test_nets(), told) : named_test_nets();
  }

  /// Of them, those that are to take a batch.
  int test_net_count() const { return tests_ ? described_test_nets() : 0; }

 private:
  int named_test_nets() const { return config_.test_net_param_size() + config_.test_net_size(); }

  const caffe::SolverParameter& config_;
  bool tests_;
};

}  // namespace cortado
