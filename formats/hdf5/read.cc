#include <sys/stat.h>

#include <algorithm>

#include "core/error.h"
#include "core/process/process_limits.h"
#include "hdf5/file.h"
#include "hdf5/list.h"
#include "hdf5/pipes.h"

namespace cortado::hdf5 {

namespace {

Handle open_file(const std::string& path) {
  const htri_t known = H5Fis_hdf5(path.c_str());
  if (known == 0) throw Failure("not an HDF5 file");
  return Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), "truncated or damaged");
}

std::string names_of(const std::vector<std::string>& paths) {
  std::string text;
  for (size_t i = 0; i < paths.size() && i < 12; ++i) text += (i ? ", '" : "'") + paths[i] + "'";
  if (paths.size() > 12) text += " and " + std::to_string(paths.size() - 12) + " more";
  return text.empty() ? "no datasets" : text;
}

/// Prototxts may write a top with the leading slash of the root group.
std::string without_root(const std::string& name) {
  return name.substr(std::min(name.find_first_not_of('/'), name.size()));
}

std::vector<Found> select(hid_t file, const std::vector<std::string>& names) {
  const std::vector<std::string> paths = list_datasets(file);
  std::vector<Found> chosen;
  const auto take = [&](const std::string& path) {
    if (std::optional<Found> found = describe_dataset(file, path)) chosen.push_back(std::move(*found));
  };
  if (names.empty())
    for (const std::string& path : paths) take(path);
  for (const std::string& name : names) {
    if (name.ends_with('/')) {
      for (const std::string& path : paths)
        if (path.starts_with(name)) take(path);
      continue;
    }
    if (std::find(paths.begin(), paths.end(), without_root(name)) == paths.end())
      throw Failure("it has no dataset '" + name + "'; it has " + names_of(paths));
    const size_t before = chosen.size();
    take(without_root(name));
    if (chosen.size() == before || chosen.back().entry.type == "STR")
      throw Failure("dataset '" + name + "' does not hold numbers");
    chosen.back().entry.name = name;
  }
  return chosen;
}

void send_values(hid_t file, const Found& found) {
  if (found.entry.type == "STR") return put(found.text.data(), found.text.size());
  const std::string what = "damaged: the values of dataset '" + found.entry.name + "' cannot be read";
  // A chunk that exceeds the cache would be decompressed once for each of its parts.
  const Handle access(H5Pcreate(H5P_DATASET_ACCESS), what);
  H5Pset_chunk_cache(access, 521, size_t(found.extent.slab_bytes()), 1.0);
  const Handle dataset(H5Dopen2(file, found.entry.name.c_str(), access), what), space(H5Dget_space(dataset), what);
  std::vector<char> part(size_t(found.extent.empty() ? 0 : found.extent.slab_bytes()));
  for_each_slab(found.extent, space, [&](hid_t memory_space, hid_t file_space, size_t bytes) {
    checked(H5Dread(dataset, found.memory, memory_space, file_space, H5P_DEFAULT, part.data()), what);
    put(part.data(), bytes);
  });
}

/// Raises the limits for the chosen datasets.
void widen_limits(const std::string& path, const std::vector<Found>& chosen, int64_t most) {
  int64_t total = 0, largest = 0;
  for (const Found& found : chosen) {
    if (found.entry.bytes() > most - total)
      throw Failure("its datasets take more than " + std::to_string(most) + " bytes, the limit for its size");
    total += found.entry.bytes();
    largest = std::max(largest, found.extent.empty() ? 0 : int64_t(found.extent.slab_bytes()));
  }
  struct stat info {};
  ::stat(path.c_str(), &info);
  limit_memory((int64_t(512) << 20) + info.st_size + 4 * largest);
  limit_seconds(15 + (total + info.st_size) / 1'000'000);
}

}  // namespace

void read_file(const std::string& path, int64_t most, const std::vector<std::string>& names, bool values) {
  const Handle file = open_file(path);
  const std::vector<Found> chosen = select(file, names);
  widen_limits(path, chosen, values ? most : INT64_MAX);
  std::vector<TensorEntry> entries;
  for (const Found& found : chosen) entries.push_back(found.entry);
  const std::string head = tensor_header(entries);
  put(head.data(), head.size());
  if (!values) return;
  for (const Found& found : chosen) send_values(file, found);
}

}  // namespace cortado::hdf5
