// Our side of the training benchmark: a net with Input layers `data` and `label`, trained by SGD (momentum 0.9, weight
// decay 0.0005, the same rate for all weights) on batches in memory.
//
//   cortado_bench_train NET INIT DATA LABEL THREADS RATE [weights=FILE] [recompute] [gpu=N] [precision=P] [eager]
//                       [choices=FILE]
//
// DATA and LABEL have raw floats of one or more batches, used in turn. The initial weights are written to INIT for the
// peers, unless it is "-". "choices" is a cache of kernels written by `cortado plan --tune`. "step K" answers "SECONDS
// LOSS...", "save FILE" writes the weights ("0").

#include <algorithm>
#include <optional>

#include "bench/worker.h"
#include "core/device/device_memory.h"
#include "core/threads/threads.h"
#include "kernels/kernel_cache.h"
#include "net/net.h"
#include "proto/weights/weights_file.h"
#include "solvers/carried_states.h"
#include "solvers/device_training.h"
#include "solvers/iteration_plan.h"
#include "solvers/weight_update.h"

namespace cortado::bench {

namespace {

/// The optional arguments.
struct Settings {
  Device device;
  Precision precision = Precision::kFp32;
  bool recompute = false, eager = false;
  std::string weights, choices;
};

Settings settings_of(const std::vector<std::string>& words) {
  Settings settings;
  for (const std::string& word : words) {
    const std::string value = word.substr(word.find('=') + 1);
    if (word == "recompute") {
      settings.recompute = true;
    } else if (word.starts_with("weights=")) {
      settings.weights = value;
    } else if (word == "eager") {
      settings.eager = true;
    } else if (word.starts_with("choices=")) {
      settings.choices = value;
    } else if (word.starts_with("gpu=")) {
      settings.device = device_named(value);
    } else if (word.starts_with("precision=")) {
      settings.precision = precision_named(value);
    } else {
      throw Error(ExitCode::kUsage, "unknown setting '" + word + "'");
    }
  }
  return settings;
}

class Trainer {
 public:
  Trainer(const std::string& net, int threads, float rate, const Settings& settings)
      : context_({.threads = threads,
                  .device = settings.device,
                  .precision = settings.precision,
                  .captures = !settings.eager}) {
    auto& choices = context_.handle<kernels::KernelCache>();
    choices.set_budget(kernels::KernelCache::default_budget(context_));
    if (!settings.choices.empty()) choices.load(kernels::read_kernel_cache(settings.choices, kernels::machine_name()));
    rates_ = {.rate = rate, .momentum = 0.9F, .weight_decay = 0.0005F};
    caffe::SolverParameter config;
    config.set_type("SGD");
    config.set_momentum(rates_.momentum);
    plan_ = iteration_plan_of(config);
    graph::BuildOptions options;
    options.state.set_phase(caffe::TRAIN);
    options.transient_gradients = plan_.updates_within_backward(context_);
    options.recompute = settings.recompute;
    net_ = make_net(std::make_shared<NetFile>(read_net(net)), options, context_);
    if (!settings.weights.empty()) net_->load_weights(read_weights(settings.weights), settings.weights);
    for (Param& param : net_->params()) param.lr_mult = param.decay_mult = 1;
    update_.emplace(plan_, *net_);
    carried_.emplace(*net_);
    if (!context_.device.is_cpu()) device_.emplace(plan_, *net_, update_->entries(), *carried_);
  }

  Net& net() { return *net_; }

  double step() {
    const auto iter = int64_t(context_.pass);
    if (device_) {
      const double loss = device_->iterate(iter, rates_, false).loss;
      ++context_.pass;
      return loss;
    }
    net_->forward();
    const double loss = net_->loss();
    update_->backward_and_apply(iter, rates_);
    ++context_.pass;
    return loss;
  }

  void save(const std::string& path) {
    WeightsWriter writer(path, net_->name(), net_->plan().weight_bytes());
    for (size_t i = 0; i < net_->plan().graph.layers.size(); ++i) {
      caffe::LayerParameter layer;  // one at a time, because a copy of all weights would count as memory
      net_->layer_to_proto(i, layer);
      writer.add(layer);
    }
    writer.commit();
  }

  /// Device memory of nets and histories.
  double device_megabytes() const { return double(net_->memory_bytes() + update_->history_bytes()) / (1 << 20); }

 private:
  Context context_;
  StepRates rates_;
  IterationPlan plan_;
  std::unique_ptr<Net> net_;
  std::optional<WeightUpdate> update_;
  std::optional<CarriedStates> carried_;
  std::optional<DeviceTraining> device_;
};

/// Batches of one input, written into the net in turn. A single one is written once and not kept, so that it costs
/// neither time nor memory.
class Feed {
 public:
  Feed(Net& net, const std::string& blob, const std::string& path)
      : net_(net), blob_(blob), values_(read_floats(path)), size_(size_t(net.blob_shape(blob).count())) {
    net_.write_blob(blob_, values_.data());
    if (values_.size() == size_) std::vector<float>().swap(values_);
  }

  void next() {
    if (values_.empty()) return;
    net_.write_blob(blob_, values_.data() + at_);
    at_ = (at_ + size_) % values_.size();
  }

 private:
  Net& net_;
  std::string blob_;
  std::vector<float> values_;
  size_t size_, at_ = 0;
};

void run(const std::vector<std::string>& args) {
  const int threads = std::stoi(args[4]);
  Trainer trainer(args[0], threads, std::stof(args[5]), settings_of({args.begin() + 6, args.end()}));
  Feed data(trainer.net(), "data", args[2]), label(trainer.net(), "label", args[3]);
  const auto save = [&](const std::string& path) {
    trainer.save(path);
    return std::string("0");
  };
  const auto step = [&] {
    data.next();
    label.next();
    return trainer.step();
  };
  if (args[1] != "-") save(args[1]);
  serve("Cortado", flops_of_pass(trainer.net().plan().graph), threads,
        {{"step", [&](const std::string& count) { return timed_runs(std::stoi(count), step); }},
         {"save", save},
         {"device-memory", [&](const std::string&) { return std::to_string(trainer.device_megabytes()); }}});
}

}  // namespace

}  // namespace cortado::bench

int main(int argc, char** argv) {
  return cortado::bench::worker_main(
      argc, argv, std::max(6, argc - 1),
      "cortado_bench_train NET INIT DATA LABEL THREADS RATE [weights=FILE] [recompute] [gpu=N] [precision=P] "
      "[eager] [choices=FILE]",
      cortado::bench::run);
}
