#pragma once

// What the labels of a dataset are called. The files lie in the dataset's folder, so that they come and go with its
// records in one rename; links beside the folder lead to them (DATASET.labels.txt), by which people and other programs
// find them. A file there that is no link is of someone who wrote names for a dataset that has none.

#include <string>
#include <vector>

namespace cortado::data {

/// A class a line, from label 0 on; and, where records have objects, a caffe::LabelMap as text.
inline constexpr const char *kLabelsPart = "labels.txt", *kLabelMapPart = "labelmap.prototxt";

/// The texts of both; "": there is none.
struct DatasetNames {
  std::string labels, label_map;

  bool operator==(const DatasetNames&) const = default;
};

/// DATASET.labels.txt or DATASET.labelmap.prototxt.
std::string names_beside(const std::string& dataset, const char* part);

/// Where the file of that part may be, in the order in which they count: in the dataset's folder, beside it, in the
/// folder that it lies in, as two sets share one.
std::vector<std::string> names_files(const std::string& dataset, const char* part);
/// The first of them that is there; "": none.
std::string names_file_of(const std::string& dataset, const char* part);

/// The same without that folder's: names that are surely of this dataset.
std::string own_names_file_of(const std::string& dataset, const char* part);

/// Throws Error(kIo) where such files cannot be read.
DatasetNames read_names(const std::string& dataset);

/// What LmdbWriter does about names, in this order: it refuses names beside `dataset` that others would replace unless
/// `replace`; writes the files into the folder that it builds; removes files beside `dataset` that named what is to be
/// replaced; and, when the folder is in place, makes the links. Throw Error(kIo), but the last: names are there then.
void check_names_beside(const std::string& dataset, const DatasetNames& names, bool replace);
void write_names(const std::string& folder, const DatasetNames& names);
void remove_names_beside(const std::string& dataset);
void link_names_beside(const std::string& dataset);

}  // namespace cortado::data
