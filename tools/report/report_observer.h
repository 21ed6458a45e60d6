#pragma once

#include <string>

#include "solvers/observer.h"

namespace cortado::tools {

/// Writes a run's report at each snapshot, without the sections that need computation. A report that cannot be written
/// is a warning.
class ReportObserver : public TrainObserver {
 public:
  explicit ReportObserver(std::string run) : run_(std::move(run)) {}
  void on_snapshot(const Progress&, const std::string&) override;

 private:
  std::string run_;
};

}  // namespace cortado::tools
