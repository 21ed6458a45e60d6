#pragma once

// Datasets from other datasets. As in conversions they are built in a temporary folder and renamed when complete. A
// record that cannot be read is an Error(kData) with its key, and nothing is written.

#include <cstdint>
#include <string>
#include <vector>

#include "data/convert/convert.h"

namespace cortado::data {

struct CurateOptions {
  std::string output;
  bool force = false;  ///< replace an existing one
  Progress progress = {};
};

/// Merges several databases: their records in sequence, with new numbers. If all of them have names of classes (of
/// labels, or of objects), classes with the same name become one, and the result's names are in order of first
/// appearance. If none has names, labels are unchanged. Throws Error(kData) if some have names, or objects, and others
/// do not, and for two classes with the same name in a set.
struct Merged {
  int64_t written = 0;
  std::vector<std::string> names;  ///< of classes; empty: labels are unchanged
  bool relabelled = false;
};
Merged merge_datasets(const std::vector<std::string>& lmdbs, const CurateOptions& options);

/// Writes the records in a random order that depends on the seed, with new numbers. Returns their number.
int64_t shuffle_dataset(const std::string& lmdb, uint64_t seed, const CurateOptions& options);

/// Creates a folder with train_lmdb, test_lmdb and labels.txt, like conversions with a test_share; records keep their
/// keys. Labels that are not classes count as one class. Throws Error(kData) if no class has two records.
struct SplitCounts {
  int64_t train = 0, test = 0;
};
SplitCounts split_dataset(const std::string& lmdb, double test_share, uint64_t seed, const CurateOptions& options);

/// Exports a folder of image files, one folder per class, which conversions can read back. Stored files are copied;
/// pixels are written as PNG. A class's folder has its name or its number, with the number appended if names collide.
/// Files are named by their keys. Throws Error(kData) for records of floats, and of objects.
struct Exported {
  int64_t files = 0, classes = 0;
};
Exported export_dataset(const std::string& lmdb, const CurateOptions& options);

/// The content and file extension for one record's image. Throws SampleError.
struct ImageFile {
  std::string content, ending;  ///< ".jpg"
};
ImageFile image_file_of(std::string_view value);

}  // namespace cortado::data
