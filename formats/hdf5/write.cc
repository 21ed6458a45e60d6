// Writes files without timestamps, so that the same content yields the same bytes, and in the oldest format version
// that can hold it, for compatibility.
#include <unistd.h>

#include <algorithm>
#include <map>

#include "core/process/process_limits.h"
#include "hdf5/file.h"
#include "hdf5/pipes.h"
#include "hdf5/slabs.h"

namespace cortado::hdf5 {

namespace {

constexpr hsize_t kChunkBytes = hsize_t(1) << 20;

hid_t stored_type(const std::string& type) {
  const std::map<std::string, hid_t> types = {{"F64", H5T_IEEE_F64LE}, {"F32", H5T_IEEE_F32LE}, {"I64", H5T_STD_I64LE},
                                              {"U64", H5T_STD_U64LE},  {"I32", H5T_STD_I32LE},  {"U32", H5T_STD_U32LE},
                                              {"I16", H5T_STD_I16LE},  {"U16", H5T_STD_U16LE},  {"I8", H5T_STD_I8LE},
                                              {"U8", H5T_STD_U8LE}};
  return types.at(type);
}

Extent extent_of(const TensorEntry& entry) {
  Extent extent;
  extent.dims.assign(entry.shape.dims().begin(), entry.shape.dims().end());
  extent.value_bytes = hsize_t(tensor_value_bytes(entry.type));
  return extent;
}

class Writer {
 public:
  Writer(const std::string& path, bool grows)
      : grows_(grows), file_(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), "cannot be created") {}

  void take(const TensorEntry& entry) {
    if (entry.type == "STR") return take_text(entry);
    Extent extent = extent_of(entry);
    const std::string what = "dataset '" + entry.name + "' cannot be written";
    const auto known = rows_.find(entry.name);
    if (grows_ && known != rows_.end()) extent.first_row = known->second;
    const Handle dataset = known == rows_.end() ? make(entry, extent) : grow(entry, extent);
    rows_[entry.name] = extent.first_row + (extent.dims.empty() ? 1 : extent.dims[0]);
    const Handle space(H5Dget_space(dataset), what), type(H5Tcopy(stored_type(entry.type)), what);
    std::vector<char> part(size_t(extent.empty() ? 0 : extent.slab_bytes()));
    for_each_slab(extent, space, [&](hid_t memory_space, hid_t file_space, size_t bytes) {
      get(part.data(), bytes);
      checked(H5Dwrite(dataset, type, memory_space, file_space, H5P_DEFAULT, part.data()), what);
    });
  }

  void flush() { checked(H5Fflush(file_, H5F_SCOPE_LOCAL), "cannot be written"); }

 private:
  Handle make(const TensorEntry& entry, const Extent& extent) {
    const std::string what = "dataset '" + entry.name + "' cannot be created";
    const Handle links(H5Pcreate(H5P_LINK_CREATE), what), create(H5Pcreate(H5P_DATASET_CREATE), what);
    H5Pset_create_intermediate_group(links, 1);
    H5Pset_obj_track_times(create, false);
    std::vector<hsize_t> most = extent.dims;
    if (grows_ && !most.empty()) {
      std::vector<hsize_t> chunk = extent.dims;
      for (hsize_t& dim : chunk) dim = std::max<hsize_t>(1, dim);
      chunk[0] = std::clamp<hsize_t>(kChunkBytes / std::max<hsize_t>(1, extent.row_bytes()), 1, 1024);
      most[0] = H5S_UNLIMITED;
      checked(H5Pset_chunk(create, int(chunk.size()), chunk.data()), what);
    }
    const Handle space(extent.dims.empty() ? H5Screate(H5S_SCALAR)
                                           : H5Screate_simple(int(most.size()), extent.dims.data(), most.data()),
                       what);
    return Handle(H5Dcreate2(file_, entry.name.c_str(), stored_type(entry.type), space, links, create, H5P_DEFAULT),
                  what);
  }

  Handle grow(const TensorEntry& entry, const Extent& extent) {
    const std::string what = "dataset '" + entry.name + "' cannot be extended";
    Handle dataset(H5Dopen2(file_, entry.name.c_str(), H5P_DEFAULT), what);
    std::vector<hsize_t> dims = extent.dims;
    if (dims.empty()) throw Failure(what);
    dims[0] += extent.first_row;
    checked(H5Dset_extent(dataset, dims.data()), what);
    return dataset;
  }

  /// Like H5LTmake_dataset_string: a scalar string with a terminating zero.
  void take_text(const TensorEntry& entry) {
    const std::string what = "text '" + entry.name + "' cannot be written";
    std::string text(size_t(entry.shape.count()) + 1, '\0');
    get(text.data(), text.size() - 1);
    const Handle type(H5Tcopy(H5T_C_S1), what), space(H5Screate(H5S_SCALAR), what),
        create(H5Pcreate(H5P_DATASET_CREATE), what);
    checked(H5Tset_size(type, text.size()), what);
    H5Pset_obj_track_times(create, false);
    const Handle dataset(H5Dcreate2(file_, entry.name.c_str(), type, space, H5P_DEFAULT, create, H5P_DEFAULT), what);
    checked(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()), what);
  }

  bool grows_;
  Handle file_;
  std::map<std::string, hsize_t> rows_;  ///< written so far, by dataset
};

/// Raises the memory limit to hold one part of the largest dataset.
void widen_write_limits(const std::vector<TensorEntry>& entries) {
  int64_t largest = 0, total = 0;
  for (const TensorEntry& entry : entries) {
    largest = std::max(largest, int64_t(extent_of(entry).slab_bytes()));
    total += entry.bytes();
  }
  limit_memory((int64_t(512) << 20) + 4 * largest);
  limit_seconds(15 + total / 1'000'000);
}

}  // namespace

void write_file(const std::string& path) {
  std::vector<TensorEntry> entries;
  if (!get_head(entries)) throw Failure("the input is empty");
  widen_write_limits(entries);
  try {
    Writer writer(path, false);
    for (const TensorEntry& entry : entries) writer.take(entry);
    writer.flush();
  } catch (...) {
    ::unlink(path.c_str());
    throw;
  }
  put("+", 1);
}

void append_file(const std::string& path) {
  try {
    Writer writer(path, true);
    for (std::vector<TensorEntry> entries; get_head(entries);) {
      widen_write_limits(entries);
      for (const TensorEntry& entry : entries) writer.take(entry);
      writer.flush();
      put("+", 1);
    }
  } catch (...) {
    ::unlink(path.c_str());
    throw;
  }
  put("+", 1);
}

}  // namespace cortado::hdf5
