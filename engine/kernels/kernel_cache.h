#pragma once

// The kernel autotuner's memory: which candidate runs which problem. A problem is described by text that holds all that
// its speed depends on but the machine (direction, shapes, layouts, number of threads); a candidate by its stable name.
// An entry comes from, in this order: a snapshot that training resumes from, a cache file of earlier runs, a
// measurement (within a time budget, where there is one), a model of costs. What was recorded stays the same for the
// rest of the run and may be saved.
//
// Lives in a Context: context.handle<KernelCache>(). By default nothing is measured, and entries depend on problems
// alone.

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/context.h"
#include "kernels/conv_algorithm.h"

namespace cortado::kernels {

class KernelCache {
 public:
  struct Entry {
    std::string candidate;
    std::string origin;  ///< "snapshot", "cache", "measured" or "model"
    double seconds = 0;  ///< of one run where it was measured, else 0
    int rivals = 0;      ///< how many other candidates were measured
  };
  static constexpr double kCpuBudget = 1, kDeviceBudget = 30;  ///< seconds; see default_budget()
  static constexpr double kNoBound = std::numeric_limits<double>::infinity();

  /// What commands that train or measure spend: on a CUDA device more, since its libraries compile engines before they
  /// run, and are far apart from each other.
  static double default_budget(const Context& context) { return context.device.is_cuda() ? kDeviceBudget : kCpuBudget; }
  /// The seconds that may be spent on measuring in all; kNoBound: no limit.
  void set_budget(double seconds) { left_ = seconds, measures_ = seconds > 0; }
  /// Starts a plan: add_budget() then divides what is left among its problems.
  void begin_plan() { plan_ = left_, budget_ = 0; }
  /// Adds `fraction` of what was left at begin_plan() to the budget of the problems that follow.
  void add_budget(double fraction) { budget_ += plan_ == kNoBound ? kNoBound : plan_ * fraction; }
  double budget() const { return budget_; }
  /// Whether set_budget() allowed measuring at all, even if its time is spent.
  bool measures() const { return measures_; }
  void spend(double seconds) { budget_ -= seconds, left_ -= seconds; }

  /// Called with how many of a plan's layers have their kernels, and how many there are. Empty: nobody is.
  using Watch = std::function<void(int64_t done, int64_t all)>;
  void set_watch(Watch watch) { watch_ = std::move(watch); }
  void tell(int64_t done, int64_t all) const {
    if (watch_) watch_(done, all);
  }

  /// Candidates of `algorithm` are not used by this run, whatever was recorded earlier.
  void exclude(ConvAlgorithm algorithm) { excluded_.insert(algorithm); }
  bool excludes(ConvAlgorithm algorithm) const { return excluded_.contains(algorithm); }

  /// Adds entries of a snapshot or a file for find(); a later call's replace an earlier one's.
  void load(const std::map<std::string, Entry>& entries) {
    for (const auto& [problem, entry] : entries) known_[problem] = entry;
  }
  void forget() { known_.clear(); }
  /// The entry of a problem, recorded or loaded; null if there is none.
  const Entry* find(const std::string& problem) const;
  /// Sets what this run uses, whatever was loaded.
  void record(const std::string& problem, const Entry& entry) { recorded_[problem] = entry; }
  const std::map<std::string, Entry>& recorded() const { return recorded_; }

 private:
  double left_ = 0, plan_ = 0, budget_ = 0;
  bool measures_ = false;
  Watch watch_;
  std::set<ConvAlgorithm> excluded_;
  std::map<std::string, Entry> known_, recorded_;
};

/// The cache file: JSON, entries by machine (CPU model and libraries) and problem. A file that is not there or damaged
/// holds nothing. `machine` tells machines apart whose measurements differ.
std::map<std::string, KernelCache::Entry> read_kernel_cache(const std::string& path, const std::string& machine);
/// Adds `entries` to the file, which appears whole or not at all. Returns why not, or "".
std::string write_kernel_cache(const std::string& path, const std::string& machine,
                               const std::map<std::string, KernelCache::Entry>& entries);
/// This machine, the versions of the libraries that have candidates, and what candidates there are: an entry chosen
/// from fewer of them is chosen anew.
std::string machine_name();

}  // namespace cortado::kernels
