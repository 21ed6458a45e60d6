#include "solvers/weight_update.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/log.h"
#include "solvers/gradient_norm.h"
#include "solvers/rank_share.h"

namespace cortado {

namespace {

size_t aligned_bytes(int64_t floats) { return size_t((floats * int64_t(sizeof(float)) + 63) / 64 * 64); }

/// Older snapshots have the memory of the rule as a layer of a net of this name.
constexpr const char* kOlderNet = "solver:memories";

const google::protobuf::RepeatedField<float>& memory_in(const caffe::TrainingState& training) {
  for (const caffe::LayerState& layer : training.layer())
    if (layer.net() == kOlderNet && layer.values_size() == 1) return layer.values(0).data();
  return training.rule_memory();
}

}  // namespace

bool updates_within_backward(const caffe::SolverParameter& config, const Context& context) {
  return context.shares_host_memory() && config.iter_size() == 1 && config.clip_gradients() < 0 &&
         !config.snapshot_diff() && config.shards() <= 1;
}

WeightUpdate::WeightUpdate(const caffe::SolverParameter& config, Net& net)
    : config_(config), rule_(*find_update_rule(config.type())), net_(net), list_(net) {
  int64_t scratch = 0;
  for (const Param& param : net.params()) scratch = std::max(scratch, sum_of_squares_scratch(param.count));
  scratch_.resize(size_t(scratch));
  sums_.resize(size_t(scratch));
  make_entries();
}

void WeightUpdate::make_entries() {
  size_t bytes = 0;
  for (const Param& param : net_.params()) bytes += aligned_bytes(param.count) * size_t(rule_.histories);
  arena_ = DeviceMemory(net_.context(), bytes);
  if (config_.larc() && config_.larc_turbo())
    memory_ = DeviceMemory(net_.context(), net_.params().size() * sizeof(float));
  std::byte* at = arena_.data();
  float* memory = reinterpret_cast<float*>(memory_.data());
  for (const Param& param : net_.params()) {
    WeightStep entry{.w = param.w, .dw = param.dw, .count = param.count, .rate = param.lr_mult};
    (config_.regularization_type() == "L1" ? entry.l1 : entry.l2) = param.decay_mult;
    for (int k = 0; k < rule_.histories; ++k, at += aligned_bytes(param.count))
      entry.history[k] = reinterpret_cast<float*>(at);
    if (memory) entry.memory = memory + entries_.size();
    entries_.push_back(entry);
  }
}

void WeightUpdate::save_memory(caffe::TrainingState& training) const {
  std::vector<float> values(memory_.bytes() / sizeof(float));
  if (values.empty()) return;
  copy_to_host(net_.context(), values.data(), memory_.data(), memory_.bytes());
  training.mutable_rule_memory()->Assign(values.begin(), values.end());
}

void WeightUpdate::load_memory(const caffe::TrainingState& training) {
  const google::protobuf::RepeatedField<float>& values = memory_in(training);
  if (size_t(values.size()) != memory_.bytes() / sizeof(float) || values.empty()) return;
  copy_to_device(net_.context(), memory_.data(), values.data(), memory_.bytes());
}

/// What the accumulated gradients are multiplied by, so that the norm of all of them together is at most
/// clip_gradients.
float WeightUpdate::clip_factor(bool verbose) {
  double sum = 0;
  for (const Param& param : net_.params())
    sum += sum_of_squares(net_.context(), param.dw, param.count, scratch_.data());
  const double norm = std::sqrt(sum), most = config_.clip_gradients();
  if (!(norm > most)) return 1;
  if (verbose)
    log_info() << "Gradient clipping: scaling down gradients (L2 norm " << norm << " > " << most << ") by scale factor "
               << most / norm;
  return float(most / norm);
}

IterationStep WeightUpdate::step_of(int64_t iter, const StepRates& rates, float scale) const {
  return {.rates = rates, .correction = rule_.correction(config_, iter), .iter = iter, .gradient_scale = scale};
}

void WeightUpdate::apply(int64_t iter, const StepRates& rates, bool verbose) {
  const float clip = config_.clip_gradients() >= 0 ? clip_factor(verbose) : 1;
  const IterationStep step = step_of(iter, rates, clip / float(passes_per_iteration(config_)));
  for (size_t p = 0; p < entries_.size(); ++p) apply_to(p, step);
}

void WeightUpdate::backward_and_apply(int64_t iter, const StepRates& rates) {
  struct Applier : GradientReader {
    WeightUpdate& update;
    const IterationStep step;
    Applier(WeightUpdate& update, const IterationStep& step) : update(update), step(step) {}
    void on_complete(size_t param) override { update.apply_to(param, step); }
  };
  Applier applier(*this, step_of(iter, rates, 1));
  net_.backward(false, &applier);
}

void WeightUpdate::apply_to(size_t param, const IterationStep& step) {
  rule_.update(net_.context(), config_, step.of(entries_[param]), sums_.data());
}

float* WeightUpdate::history_of(size_t blob) const {
  const int param = list_.param(blob % list_.size());
  return param < 0 ? nullptr : entries_[size_t(param)].history[blob / list_.size()];
}

void WeightUpdate::save(size_t blob, caffe::BlobProto& out) const {
  list_.save(blob % list_.size(), history_of(blob), out);
}

void WeightUpdate::load(const google::protobuf::RepeatedPtrField<caffe::BlobProto>& blobs, const std::string& path) {
  const size_t wanted = history_blobs();
  if (size_t(blobs.size()) != wanted)
    throw Error(ExitCode::kSnapshot,
                path + " holds " + std::to_string(blobs.size()) + " history blobs, but " + config_.type() +
                    " on this net has " + std::to_string(wanted),
                "was it written by a solver of another type, or for another net?");
  for (size_t i = 0; i < wanted; ++i)
    list_.load(i % list_.size(), blobs.Get(int(i)), history_of(i), path + ": history " + std::to_string(i));
}

}  // namespace cortado
