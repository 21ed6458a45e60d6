#pragma once

// The observers of a run: each is told of every event, in the order in which they were added.

#include <string>
#include <utility>
#include <vector>

#include "core/log.h"
#include "solvers/observer.h"

namespace cortado {

class Observers {
 public:
  /// `warnings`: those logged before this was made.
  explicit Observers(std::vector<std::string> warnings = {}) : early_warnings_(std::move(warnings)) {}

  /// `observer` outlives this.
  void add(TrainObserver* observer) { list_.push_back(observer); }

  /// Calls `event` with each observer.
  template <typename Event>
  void tell(const Event& event) const {
    for (TrainObserver* observer : list_) event(*observer);
  }

  /// Logs a warning and tells it. Where there is no observer yet, it is kept for tell_early_warnings().
  void warn(const Progress& progress, const std::string& text) {
    log_warning() << text;
    if (list_.empty()) early_warnings_.push_back(text);
    tell([&](TrainObserver& observer) { observer.on_warning(progress, text); });
  }

  /// Tells the warnings that no observer has seen, once.
  void tell_early_warnings(const Progress& progress) {
    for (const std::string& text : early_warnings_)
      tell([&](TrainObserver& observer) { observer.on_warning(progress, text); });
    early_warnings_.clear();
  }

 private:
  std::vector<TrainObserver*> list_;
  std::vector<std::string> early_warnings_;
};

}  // namespace cortado
