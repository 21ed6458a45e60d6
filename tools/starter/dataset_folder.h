#pragma once

#include <string>
#include <vector>

#include "data/inspect/dataset_stats.h"

namespace cortado::tools {

/// A training and a test set with class names, as `cortado convert folder --split` writes them.
struct DatasetFolder {
  std::string path, train, test;   ///< train and test: as data layers name them
  std::string labels;              ///< the file of class names; "": none
  std::vector<std::string> names;  ///< of the classes; numbers without a file
  data::DatasetStats stats;        ///< of the training set; colours and sizes of a sample
  int64_t test_records = 0;

  int64_t classes() const { return int64_t(names.size()); }
};

/// Reads the folder. Throws Error(kIo/kData) if it is not such a dataset, with the command that makes one as the hint.
DatasetFolder read_dataset_folder(const std::string& path, const data::Progress& progress = {});

}  // namespace cortado::tools
