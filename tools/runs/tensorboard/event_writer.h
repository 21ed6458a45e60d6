#pragma once

#include "net/net.h"
#include "proto/cortado.pb.h"
#include "solvers/observer.h"
#include "tools/runs/layer_watch.h"
#include "tools/runs/pace.h"
#include "tools/runs/tensorboard/event_file.h"

namespace cortado::runs {

/// Writes an event file: losses, scores, rates, speed, waiting time and memory at each display and test. With a
/// LayerWatch also histograms of weights and gradients, the training batch and the first filters. At the start, the net
/// as a graph, and the solver as text and as hyperparameters.
class EventWriter : public TrainObserver {
 public:
  /// `net`, which trains, and `solver` must outlive this object. `name`: of the run, among those that it is compared
  /// with. Throws Error(kIo).
  EventWriter(const std::string& folder, const std::string& name, const caffe::SolverParameter& solver, Net& net);

  /// Writes histograms at each iteration of `watch`, and images at every tenth of these. `watch` must outlive this
  /// object.
  void follow(LayerWatch& watch);

  void on_start(const Progress&, const std::vector<TestScore>&) override;
  bool wants_gradients(int64_t iter) const override { return watch_ && watch_->wants_gradients(iter); }
  void on_gradient(const Progress&, size_t param) override;
  void on_display(const Progress&, const std::vector<Score>&) override;
  void on_test(const Progress&, int net, const std::vector<Score>&, const std::vector<BestTestScore>&) override;
  void on_diverged(const Progress&, const std::string& text) override;
  void on_end(const Progress&, Outcome) override;

 private:
  void write_spreads(const Progress&, const std::vector<WeightSpread>&);

  EventFile file_;
  const std::string name_;
  const caffe::SolverParameter& solver_;
  Net& net_;
  Pace pace_;
  LayerWatch* watch_ = nullptr;
  int64_t looked_ = -1;  ///< the latest iteration of the watch
  int looks_ = 0;
};

}  // namespace cortado::runs
