#include "solvers/weight_update.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/log.h"

namespace cortado {

namespace {

/// Older snapshots store the memory of the rule as a layer of a net with this name.
constexpr const char* kOlderNet = "solver:memories";

const google::protobuf::RepeatedField<float>& memory_in(const caffe::TrainingState& training) {
  for (const caffe::LayerState& layer : training.layer())
    if (layer.net() == kOlderNet && layer.values_size() == 1) return layer.values(0).data();
  return training.rule_memory();
}

/// Calls use(param, from, count) for each part of a param within the slices: its index, offset and length in floats.
template <typename Use>
void for_each_part(Net& net, const std::vector<ranks::FloatRange>& slices, const Use& use) {
  const float* const base = net.gradient_memory().data();
  const std::vector<Param>& params = net.params();
  for (const ranks::FloatRange& slice : slices)
    for (size_t p = 0; p < params.size(); ++p) {
      const int64_t at = params[p].dw - base;
      const int64_t begin = std::max(slice.begin, at), end = std::min(slice.end, at + params[p].count);
      if (begin < end) use(p, begin - at, end - begin);
    }
}

}  // namespace

WeightUpdate::WeightUpdate(const IterationPlan& plan, Net& net, std::optional<std::vector<ranks::FloatRange>> slices)
    : plan_(plan), rule_(*plan.rule), net_(net), is_sliced_(slices.has_value()), list_(net) {
  for (const Param& param : net.params()) {
    places_.push_back(whole_bytes_ / kFloatBytes);
    whole_bytes_ += int64_t(whole_lines(param.count * kFloatBytes)) * rule_.histories;
  }
  if (slices) {
    make_sliced_entries(*slices);
    return;
  }
  int64_t scratch = 0;
  for (const Param& param : net.params()) scratch = std::max(scratch, sum_of_squares_scratch(param.count));
  scratch_.resize(size_t(scratch));
  sums_.resize(size_t(scratch));
  make_entries();
}

void WeightUpdate::make_entries() {
  arena_ = DeviceMemory(net_.context(), size_t(whole_bytes_));
  if (plan_.rule_remembers) memory_ = DeviceMemory(net_.context(), net_.params().size() * sizeof(float));
  std::byte* at = arena_.data();
  float* memory = reinterpret_cast<float*>(memory_.data());
  for (const Param& param : net_.params()) {
    WeightStep entry{.w = param.w, .dw = param.dw, .count = param.count, .rate = param.lr_mult};
    if (plan_.keeps_updates) entry.kept = param.dw;
    (plan_.l1 ? entry.l1 : entry.l2) = param.decay_mult;
    for (int k = 0; k < rule_.histories; ++k, at += whole_lines(param.count * kFloatBytes))
      entry.history[k] = reinterpret_cast<float*>(at);
    if (memory) entry.memory = memory + entries_.size();
    entries_.push_back(entry);
  }
}

void WeightUpdate::make_sliced_entries(const std::vector<ranks::FloatRange>& slices) {
  int64_t floats = 0;
  for_each_part(net_, slices, [&](size_t, int64_t, int64_t count) { floats += count * rule_.histories; });
  arena_ = DeviceMemory(net_.context(), size_t(floats) * sizeof(float));
  float* at = reinterpret_cast<float*>(arena_.data());
  for_each_part(net_, slices, [&](size_t p, int64_t from, int64_t count) {
    const Param& param = net_.params()[p];
    WeightStep entry{.w = param.w + from, .dw = param.dw + from, .count = count, .rate = param.lr_mult};
    (plan_.l1 ? entry.l1 : entry.l2) = param.decay_mult;
    for (int k = 0; k < rule_.histories; ++k, at += count) entry.history[k] = at;
    entries_.push_back(entry);
  });
}

void WeightUpdate::apply_to_slice(const ranks::FloatRange& slice, Context& context, int64_t iter,
                                  const StepRates& rates) {
  const float* const base = net_.gradient_memory().data();
  const IterationStep step = step_of(iter, rates, 1 / float(plan_.passes_per_update()));
  const auto first = std::lower_bound(entries_.begin(), entries_.end(), base + slice.begin,
                                      [](const WeightStep& entry, const float* at) { return entry.dw < at; });
  for (auto entry = first; entry != entries_.end() && entry->dw < base + slice.end; ++entry) {
    rule_.update(context, step.of(*entry), nullptr);
    std::copy_n(entry->w, entry->count, const_cast<float*>(entry->dw));
  }
}

void WeightUpdate::take_weights(const ranks::FloatRange& range) {
  for_each_part(net_, {range}, [&](size_t p, int64_t from, int64_t count) {
    const Param& param = net_.params()[p];
    std::copy_n(param.dw + from, count, param.w + from);
  });
}

/// Calls use(floats, count) for the pieces of the whole history that belong to these slices, in the order of the
/// owner's.
template <typename Use>
void WeightUpdate::visit_history(const std::vector<ranks::FloatRange>& slices, const Use& use) const {
  for_each_part(net_, slices, [&](size_t p, int64_t from, int64_t count) {
    const int64_t each = int64_t(whole_lines(net_.params()[p].count * kFloatBytes) / sizeof(float));
    for (int k = 0; k < rule_.histories; ++k)
      use(reinterpret_cast<float*>(whole_.data()) + places_[p] + k * each + from, count);
  });
}

void WeightUpdate::gather(ranks::Engine& engine, const std::vector<std::vector<ranks::FloatRange>>& slices, int first) {
  const size_t ranks = slices.size();
  std::vector<size_t> send_at(ranks + 1, 0), receive_at(ranks + 1, 0);
  std::fill(send_at.begin() + first + 1, send_at.end(), arena_.bytes());
  std::vector<float> received;
  if (engine.rank() == first) {
    make_whole();
    for (size_t rank = 0; rank < ranks; ++rank) {
      receive_at[rank + 1] = receive_at[rank];
      visit_history(slices[rank], [&](float*, int64_t n) { receive_at[rank + 1] += size_t(n) * sizeof(float); });
    }
    received.resize(receive_at.back() / sizeof(float));
  }
  engine.all_to_all(arena_.data(), send_at, reinterpret_cast<std::byte*>(received.data()), receive_at);
  const float* at = received.data();
  for (size_t rank = 0; rank < ranks && engine.rank() == first; ++rank)
    visit_history(slices[rank], [&](float* to, int64_t n) {
      std::copy_n(at, n, to);
      at += n;
    });
}

void WeightUpdate::scatter(ranks::Engine& engine, const std::vector<std::vector<ranks::FloatRange>>& slices,
                           int first) {
  const size_t ranks = slices.size();
  std::vector<size_t> send_at(ranks + 1, 0), receive_at(ranks + 1, 0);
  std::fill(receive_at.begin() + first + 1, receive_at.end(), arena_.bytes());
  std::vector<float> sent;
  for (size_t rank = 0; rank < ranks && engine.rank() == first; ++rank) {
    visit_history(slices[rank], [&](const float* from, int64_t n) { sent.insert(sent.end(), from, from + n); });
    send_at[rank + 1] = sent.size() * sizeof(float);
  }
  engine.all_to_all(reinterpret_cast<const std::byte*>(sent.data()), send_at, arena_.data(), receive_at);
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

float WeightUpdate::clip_factor(bool verbose) {
  double sum = 0;
  for (const Param& param : net_.params())
    sum += sum_of_squares(net_.context(), param.dw, param.count, scratch_.data());
  const GradientClip clip = plan_.clip();
  const double norm = clip.norm(sum), factor = clip.factor(norm);
  if (verbose && factor < 1)
    log_info() << "Gradient clipping: scaling down gradients (L2 norm " << norm << " > " << clip.most
               << ") by scale factor " << factor;
  return float(factor);
}

IterationStep WeightUpdate::step_of(int64_t iter, const StepRates& rates, float scale) const {
  return {.rates = rates, .correction = rule_.correction(iter), .iter = iter, .gradient_scale = scale};
}

void WeightUpdate::apply(int64_t iter, const StepRates& rates, bool verbose) {
  const float clip = plan_.clip_gradients >= 0 ? clip_factor(verbose) : 1;
  const IterationStep step = step_of(iter, rates, clip / float(plan_.passes_per_update()));
  for (size_t p = 0; p < entries_.size(); ++p) apply_to(p, step);
}

void WeightUpdate::backward_and_apply(int64_t iter, const StepRates& rates, GradientReader* reader) {
  struct Applier : GradientReader {
    WeightUpdate& update;
    const IterationStep step;
    GradientReader* const first;
    Applier(WeightUpdate& update, const IterationStep& step, GradientReader* first)
        : update(update), step(step), first(first) {}
    void on_complete(size_t param) override {
      if (first) first->on_complete(param);
      update.apply_to(param, step);
    }
  };
  Applier applier(*this, step_of(iter, rates, 1), reader);
  net_.backward(false, &applier);
}

void WeightUpdate::apply_to(size_t param, const IterationStep& step) {
  rule_.update(net_.context(), step.of(entries_[param]), sums_.data());
}

float* WeightUpdate::history_of(size_t blob) const {
  const int param = list_.param(blob % list_.size());
  if (param < 0) return nullptr;
  const int64_t each = int64_t(whole_lines(net_.params()[size_t(param)].count * kFloatBytes) / sizeof(float));
  return reinterpret_cast<float*>(whole().data()) + places_[size_t(param)] + int64_t(blob / list_.size()) * each;
}

void WeightUpdate::save(size_t blob, caffe::BlobProto& out) const {
  list_.save(blob % list_.size(), history_of(blob), out);
}

void WeightUpdate::load(const google::protobuf::RepeatedPtrField<caffe::BlobProto>& blobs, const std::string& path) {
  const size_t wanted = history_blobs();
  if (size_t(blobs.size()) != wanted)
    throw Error(ExitCode::kSnapshot,
                path + " has " + std::to_string(blobs.size()) + " history blobs, but " + plan_.rule->name +
                    " on this net has " + std::to_string(wanted),
                "use a snapshot of the same net and solver type");
  if (is_sliced_ && !whole_.data()) make_whole();
  for (size_t i = 0; i < wanted; ++i)
    list_.load(i % list_.size(), blobs.Get(int(i)), history_of(i), path + ": history " + std::to_string(i));
}

}  // namespace cortado
