#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>

namespace cortado::studio {

/// Paths of runs, trainings and datasets that this studio is making. What is claimed is neither made twice, nor renamed
/// or deleted.
class Claims {
 public:
  /// Claims the path until the pointer is destroyed. Throws RequestError(kConflict) if it is claimed.
  std::shared_ptr<void> claim(const std::string& path);
  /// Throws RequestError(kConflict) if the path, something in it or a folder above it is claimed.
  void check_free(const std::string& path) const;

 private:
  mutable std::mutex mutex_;
  std::set<std::string> paths_;
};

}  // namespace cortado::studio
