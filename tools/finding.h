#pragma once

// What `cortado check` finds in one file, and how it is told.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "core/error.h"
#include "tools/label_check.h"

namespace cortado::tools {

/// What a file is, and what is wrong with it.
struct Finding {
  std::string path, kind = "net";
  int nets = 0;
  size_t layers = 0;
  int64_t params = 0;              ///< 0: not known, or none
  int64_t train_bytes = 0;         ///< 0: not known
  std::vector<LabelsSeen> labels;  ///< a line for each data layer of each net
  std::vector<Mistake> mistakes, warnings;
  ExitCode code = ExitCode::kOk;

  /// What was added before is left out. A wrong net outranks the dataset that it could not be tried on.
  void add(ExitCode found, const std::vector<Mistake>& list);
  void warn(const std::vector<Mistake>& list);

 private:
  std::set<std::string> told_;
};

/// "2 nets, 10 layers, 431 080 params, 10.8 MiB train memory", and how many labels were looked at where not all were.
std::string summary_of(const Finding& finding);

nlohmann::ordered_json to_json(const Finding& finding);

}  // namespace cortado::tools
