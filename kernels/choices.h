#pragma once

// Which candidate runs which problem, remembered. A problem is described by text that holds all that its speed depends on
// but the machine (direction, shapes, layouts, number of threads); a candidate by its stable name. A choice comes from, in
// this order: a snapshot that training resumes from, a cache file of earlier runs, measuring (under a bound, where it was
// allowed), a model of costs. Whatever was chosen is the same for the rest of the run and may be saved.
//
// Lives in a Context: context.handle<Choices>(). Without further ado nothing is measured, and choices depend on problems
// alone.

#include <limits>
#include <map>
#include <set>
#include <string>

namespace cortado::kernels {

class Choices {
 public:
  struct Choice {
    std::string candidate;
    std::string origin;  ///< "snapshot", "cache", "measured" or "model"
    double seconds = 0;  ///< of one run where it was measured, else 0
    int rivals = 0;      ///< how many others were run
  };
  static constexpr double kSecondsAtStart = 1;  ///< what commands that train or measure allow unless told otherwise
  static constexpr double kNoBound = std::numeric_limits<double>::infinity();

  /// Lets `seconds` in all be spent on measuring; kNoBound: whatever it takes.
  void allow_measuring(double seconds) { left_ = seconds, measures_ = seconds > 0; }
  /// Grants the next problems `fraction` of what is left of that when nothing was granted yet.
  void begin_plan() { plan_ = left_, granted_ = 0; }
  void grant(double fraction) { granted_ += plan_ == kNoBound ? kNoBound : plan_ * fraction; }
  double granted() const { return granted_; }
  /// Whether measuring was allowed at all, be the time for it spent or not.
  bool measures() const { return measures_; }
  void spend(double seconds) { granted_ -= seconds, left_ -= seconds; }

  /// Candidates whose name begins so are not taken by this run, whatever was recorded.
  void exclude(const std::string& prefix) { excluded_.insert(prefix); }
  bool excludes(const std::string& candidate) const;

  /// Choices from elsewhere, which later find()s give; a later call's go before an earlier one's.
  void remember(const std::map<std::string, Choice>& choices) {
    for (const auto& [problem, choice] : choices) known_[problem] = choice;
  }
  void forget() { known_.clear(); }
  /// The choice for a problem, made or remembered; null if there is none.
  const Choice* find(const std::string& problem) const;
  /// What this run takes, whatever was remembered.
  void take(const std::string& problem, const Choice& choice) { taken_[problem] = choice; }
  const std::map<std::string, Choice>& taken() const { return taken_; }

 private:
  double left_ = 0, plan_ = 0, granted_ = 0;
  bool measures_ = false;
  std::set<std::string> excluded_;
  std::map<std::string, Choice> known_, taken_;
};

/// The cache file: JSON, choices by machine (CPU model and libraries) and problem. A file that is not there or damaged
/// holds nothing. `machine` tells machines apart whose measurements differ.
std::map<std::string, Choices::Choice> read_choice_cache(const std::string& path, const std::string& machine);
/// Adds `choices` to the file, which appears whole or not at all. Returns why not, or "".
std::string write_choice_cache(const std::string& path, const std::string& machine,
                               const std::map<std::string, Choices::Choice>& choices);
/// This machine, the versions of the libraries that have candidates, and what candidates there are: a choice from fewer
/// of them is made anew.
std::string machine_name();

}  // namespace cortado::kernels
