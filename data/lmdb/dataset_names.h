#pragma once

// The names of a dataset's labels. The files are in the dataset's folder, so that they are replaced together with the
// records by one rename. Links next to the folder (DATASET.labels.txt) point to them, for people and other programs. A
// file there that is not a link was written by a user for a dataset without names.

#include <string>
#include <vector>

namespace cortado::data {

/// One class per line, from label 0 on; and, if records have objects, a caffe::LabelMap as text.
inline constexpr const char *kLabelsPart = "labels.txt", *kLabelMapPart = "labelmap.prototxt";

/// The contents of both; "": none.
struct DatasetNames {
  std::string labels, label_map;

  bool operator==(const DatasetNames&) const = default;
};

/// DATASET.labels.txt or DATASET.labelmap.prototxt.
std::string names_beside(const std::string& dataset, const char* part);

/// The possible paths of that file, in order of precedence: in the dataset's folder, next to it, and in the parent
/// folder, which two sets may share.
std::vector<std::string> names_files(const std::string& dataset, const char* part);
/// The first of them that exists; "": none.
std::string names_file_of(const std::string& dataset, const char* part);

/// The same without the parent folder: names that certainly belong to this dataset.
std::string own_names_file_of(const std::string& dataset, const char* part);

/// Throws Error(kIo) if these files cannot be read.
DatasetNames read_names(const std::string& dataset);

/// The steps of LmdbWriter for names, in this order. It checks that no names next to `dataset` would be replaced unless
/// `replace`. It writes the files into the temporary folder. It removes files next to `dataset` with names of the
/// replaced dataset. After the rename it creates the links. All but the last throw Error(kIo); without links the names
/// are still complete.
void check_names_beside(const std::string& dataset, const DatasetNames& names, bool replace);
void write_names(const std::string& folder, const DatasetNames& names);
void remove_names_beside(const std::string& dataset);
void link_names_beside(const std::string& dataset);

}  // namespace cortado::data
