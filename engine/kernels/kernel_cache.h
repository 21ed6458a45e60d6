#pragma once

// The memory of the kernel autotuner: maps problems to candidates. A problem is text with everything that its speed
// depends on except the machine: direction, shapes, layouts, number of threads. A candidate is a stable name. An entry
// comes from the first of: the snapshot from which training resumes, a cache file of earlier runs, a measurement
// (within the time budget), a cost model. A recorded entry stays fixed for the rest of the run and can be saved.
//
// Stored in a Context as context.handle<KernelCache>(). By default nothing is measured, so entries depend only on
// problems.

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
    double seconds = 0;  ///< seconds per run if measured, else 0
    int rivals = 0;      ///< number of other candidates that were measured
  };
  static constexpr double kCpuBudget = 1, kDeviceBudget = 30;  ///< seconds; see default_budget()
  static constexpr double kNoBound = std::numeric_limits<double>::infinity();

  /// The budget of commands that train or measure. Larger on CUDA devices, whose libraries compile engines of very
  /// different speeds.
  static double default_budget(const Context& context) { return context.device.is_cuda() ? kDeviceBudget : kCpuBudget; }
  /// Sets the total seconds for measurements; kNoBound: unlimited.
  void set_budget(double seconds) { left_ = seconds, measures_ = seconds > 0; }
  /// Starts a plan: add_budget() then divides the remaining budget among its problems.
  void begin_plan() { plan_ = left_, budget_ = 0; }
  /// Adds `fraction` of the budget at begin_plan() to that of the following problems.
  void add_budget(double fraction) { budget_ += plan_ == kNoBound ? kNoBound : plan_ * fraction; }
  double budget() const { return budget_; }
  /// Whether set_budget() allowed measuring, even if the time is now spent.
  bool measures() const { return measures_; }
  void spend(double seconds) { budget_ -= seconds, left_ -= seconds; }

  /// A progress callback: the number of layers with kernels, and the total. May be empty.
  using Watch = std::function<void(int64_t done, int64_t all)>;
  void set_watch(Watch watch) { watch_ = std::move(watch); }
  void tell(int64_t done, int64_t all) const {
    if (watch_) watch_(done, all);
  }

  /// Excludes candidates of `algorithm` from this run, even recorded ones.
  void exclude(ConvAlgorithm algorithm) { excluded_.insert(algorithm); }
  bool excludes(ConvAlgorithm algorithm) const { return excluded_.contains(algorithm); }

  /// Adds entries of a snapshot or a file for find(). Later calls overwrite earlier entries.
  void load(const std::map<std::string, Entry>& entries) {
    for (const auto& [problem, entry] : entries) known_[problem] = entry;
  }
  void forget() { known_.clear(); }
  /// The recorded or loaded entry of a problem; null if none.
  const Entry* find(const std::string& problem) const;
  /// Records the choice of this run, which overrides loaded entries.
  void record(const std::string& problem, const Entry& entry) { recorded_[problem] = entry; }
  const std::map<std::string, Entry>& recorded() const { return recorded_; }

 private:
  double left_ = 0, plan_ = 0, budget_ = 0;
  bool measures_ = false;
  Watch watch_;
  std::set<ConvAlgorithm> excluded_;
  std::map<std::string, Entry> known_, recorded_;
};

/// Reads the cache file: JSON, entries by machine (CPU model and libraries) and problem. A missing or damaged file is
/// empty. `machine` distinguishes machines whose measurements differ.
std::map<std::string, KernelCache::Entry> read_kernel_cache(const std::string& path, const std::string& machine);
/// Adds `entries` to the file atomically. Returns the error, or "".
std::string write_kernel_cache(const std::string& path, const std::string& machine,
                               const std::map<std::string, KernelCache::Entry>& entries);
/// Identifies the machine: CPU model, library versions and the list of candidates. An entry chosen from fewer
/// candidates is therefore not reused.
std::string machine_name();

}  // namespace cortado::kernels
