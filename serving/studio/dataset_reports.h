#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "studio/workplace.h"

namespace cortado::studio {

/// Removes what a killed studio left of datasets that it was making.
void remove_unfinished_datasets(const Folder& folder);

/// A database of a dataset.
struct DatasetSet {
  std::string name, path;  ///< "train" or "test"; the folder of the database
  int64_t bytes = 0;
  double changed = 0;  ///< seconds since 1970
};

/// The databases in the folder of a dataset: train_lmdb and test_lmdb, if they exist.
std::vector<DatasetSet> sets_of(const Folder& folder, const std::string& path);

/// What `cortado data stats` reports about datasets. A report is kept until its dataset changes.
class DatasetReports {
 public:
  /// {"report": one object for each set, or null, "job": the number of the job that reads it, or 0}
  Json json(const Folder& folder, const std::string& path) const;
  /// Starts a job that reads the dataset, or returns the running one.
  static int64_t read(const std::shared_ptr<DatasetReports>& reports, Workplace& place, const std::string& path);

 private:
  struct Known {
    std::string version;  ///< of the files that were read
    Json report;          ///< null while the job runs, or if it failed
    int64_t job = 0;
  };

  mutable std::mutex mutex_;
  std::map<std::string, Known> known_;  ///< by path
};

}  // namespace cortado::studio
