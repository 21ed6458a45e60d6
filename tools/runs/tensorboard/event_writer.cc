#include "tools/runs/tensorboard/event_writer.h"

#include <cmath>

#include "core/process/process_limits.h"
#include "proto/text/write_text.h"
#include "tools/runs/tensorboard/graph_def.h"

namespace cortado::runs {

namespace {

constexpr int kLooksPerImage = 10;

using Scalars = std::vector<std::pair<std::string, double>>;

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

/// The hyperparameters in which trainings of a net usually differ.
std::vector<Setting> settings_of(const caffe::SolverParameter& solver, Net& net) {
  return {{"base_lr", number_text(solver.base_lr()), true},
          {"momentum", number_text(solver.momentum()), true},
          {"weight_decay", number_text(solver.weight_decay()), true},
          {"batch_size", std::to_string(net.batch_size()), true},
          {"iter_size", std::to_string(solver.iter_size()), true},
          {"max_iter", std::to_string(solver.max_iter()), true},
          {"seed", std::to_string(net.context().seed), true},
          {"type", solver.type()},
          {"lr_policy", solver.lr_policy()},
          {"net", net.name()}};
}

/// "accuracy"; for several elements "accuracy/0", "accuracy/1".
void add_scores(const std::string& prefix, const std::vector<Score>& scores, Scalars& to) {
  for (size_t i = 0; i < scores.size(); ++i) {
    size_t before = 0, all = 0;
    for (size_t j = 0; j < scores.size(); ++j)
      if (scores[j].name == scores[i].name) {
        ++all;
        before += j < i;
      }
    to.emplace_back(prefix + scores[i].name + (all > 1 ? "/" + std::to_string(before) : ""), scores[i].value);
  }
}

/// Indented, so that TensorBoard shows it as code.
std::string as_code(const std::string& text) {
  std::string out = "    ";
  for (const char c : text) out += c == '\n' ? std::string("\n    ") : std::string(1, c);
  return out;
}

}  // namespace

EventWriter::EventWriter(const std::string& folder, const std::string& name, const caffe::SolverParameter& solver,
                         Net& net)
    : file_(folder), name_(name), solver_(solver), net_(net) {}

void EventWriter::follow(LayerWatch& watch) {
  watch_ = &watch;
  watch.add_reader([this](const Progress& progress, const auto& spreads) { write_spreads(progress, spreads); });
}

void EventWriter::on_start(const Progress& progress, const std::vector<TestScore>&) {
  file_.start(progress.iter);
  file_.begin_session(name_, settings_of(solver_, net_), {"train/loss", "test/accuracy", "test/loss"});
  file_.graph(graph_def_of(net_.plan().graph));
  file_.text(progress.iter, "solver", as_code(to_text(solver_)));
}

/// At the first gradient of a pass, backward has not reached the layers that read the batch, so it is still in memory.
void EventWriter::on_gradient(const Progress& progress, size_t) {
  if (looked_ == progress.iter) return;
  looked_ = progress.iter;
  if (looks_++ % kLooksPerImage != 0) return;
  if (const auto batch = batch_image(net_)) file_.image(progress.iter, "batch", *batch);
  if (const auto filters = filter_image(net_)) file_.image(progress.iter, "first filters", *filters);
}

void EventWriter::on_display(const Progress& progress, const std::vector<Score>& outputs) {
  Scalars values = {{"train/loss", progress.smoothed_loss}, {"train/rate", progress.rate}};
  if (const auto pace = pace_.now(progress)) {
    values.emplace_back("speed/images per second", pace->images_per_second);
    values.emplace_back("speed/share of waiting for data", pace->data_wait);
  }
  values.emplace_back("speed/memory in MiB", double(resident_bytes()) / (1 << 20));
  add_scores("train outputs/", outputs, values);
  file_.scalars(progress.iter, values);
}

void EventWriter::on_test(const Progress& progress, int net, const std::vector<Score>& scores,
                          const std::vector<BestTestScore>&) {
  Scalars values;
  add_scores(net == 0 ? "test/" : "test " + std::to_string(net) + "/", scores, values);
  file_.scalars(progress.iter, values);
}

void EventWriter::write_spreads(const Progress& progress, const std::vector<WeightSpread>& spreads) {
  for (const WeightSpread& spread : spreads) {
    file_.histogram(progress.iter, "weights/" + spread.name, spread.values);
    file_.histogram(progress.iter, "gradients/" + spread.name, spread.gradients);
  }
}

void EventWriter::on_diverged(const Progress& progress, const std::string& text) {
  file_.text(progress.iter, "diverged", text);
  file_.end_session(false);
}

void EventWriter::on_end(const Progress&, Outcome) { file_.end_session(true); }

}  // namespace cortado::runs
