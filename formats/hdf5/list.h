#pragma once

#include <hdf5.h>

#include <optional>
#include <string>
#include <vector>

#include "formats/tensor_header.h"
#include "hdf5/slabs.h"

namespace cortado::hdf5 {

/// A dataset of a file, and how to read it.
struct Found {
  TensorEntry entry;  ///< its name is the path from the root, without the first '/'
  hid_t memory = -1;  ///< the library's type for a value in memory; its own until the program ends
  Extent extent;
  std::string text;  ///< the value, for type STR
};

/// The paths of all datasets, ordered by group name. Links to other files are skipped; a group is not entered from
/// within itself. Throws Failure beyond 200,000 links or 32 levels.
std::vector<std::string> list_datasets(hid_t file);

/// Describes a dataset. Returns nothing if it is neither numeric nor a single string. Throws Failure if it is damaged
/// or stored in another file.
std::optional<Found> describe_dataset(hid_t file, const std::string& path);

}  // namespace cortado::hdf5
