#pragma once

// Datasets made of datasets. Like conversions they are built aside and put in place whole. A record that
// cannot be read is an Error(kData) with its key; nothing is written then.

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

/// One database of several: their records one set after the other, under new numbers. Where each of them has names of
/// its classes (of labels, or of objects), classes of one name become one; the result's names are all of them in the
/// order in which they were met. Where none has, labels stay. Throws Error(kData) where some have names, or objects,
/// and others have not, and for two classes of one name in a set.
struct Merged {
  int64_t written = 0;
  std::vector<std::string> names;  ///< of classes; empty: labels stayed
  bool relabelled = false;
};
Merged merge_datasets(const std::vector<std::string>& lmdbs, const CurateOptions& options);

/// The records in another order, a function of the seed, under new numbers. Returns how many there are.
int64_t shuffle_dataset(const std::string& lmdb, uint64_t seed, const CurateOptions& options);

/// A folder with train_lmdb, test_lmdb and labels.txt, as conversions with a test_share make it; records keep their
/// keys. Throws Error(kData) where no class has two records.
struct SplitCounts {
  int64_t train = 0, test = 0;
};
SplitCounts split_dataset(const std::string& lmdb, double test_share, uint64_t seed, const CurateOptions& options);

/// A folder of image files, one folder for each class, that conversions read back: files as they are stored, pixels as
/// PNG. A class is called by its name, or its number, with the number behind it where another one's folder is called
/// so; files by their keys. Throws Error(kData) for records of floats, and of objects.
struct Exported {
  int64_t files = 0, classes = 0;
};
Exported export_dataset(const std::string& lmdb, const CurateOptions& options);

/// A file's content and ending for one record's image. Throws SampleError.
struct ImageFile {
  std::string content, ending;  ///< ".jpg"
};
ImageFile image_file_of(std::string_view value);

}  // namespace cortado::data
