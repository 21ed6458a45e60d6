#pragma once

#include <string>
#include <vector>

#include "data/inspect/dataset_stats.h"

namespace cortado::tools {

/// A training and a test set with the names of their classes, as `cortado convert folder --split` makes them.
struct DatasetFolder {
  std::string path, train, test;   ///< train and test as data layers name them
  std::string labels;              ///< the file of names; "": none
  std::vector<std::string> names;  ///< of the classes; numbers where there is no file
  data::DatasetStats stats;        ///< of the training set; colours and sizes of a part of it
  int64_t test_records = 0;

  int64_t classes() const { return int64_t(names.size()); }
};

/// Looks at the folder. Throws Error(kIo/kData) where it is none, with what makes one as the hint.
DatasetFolder read_dataset_folder(const std::string& path, const data::Progress& progress = {});

}  // namespace cortado::tools
