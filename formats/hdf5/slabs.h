#pragma once

// Splits a dataset along its first axis, so that only one part of it is in memory.

#include <hdf5.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "hdf5/handle.h"

namespace cortado::hdf5 {

constexpr hsize_t kSlabBytes = hsize_t(4) << 20;

/// The shape of a dataset; the first axis has the rows.
struct Extent {
  std::vector<hsize_t> dims;
  hsize_t value_bytes = 0;
  hsize_t first_row = 0;  ///< the first of the dims[0] rows, counted in the file
  hsize_t unit_rows = 1;  ///< rows of a chunk, which should be read together

  hsize_t row_bytes() const {
    hsize_t bytes = value_bytes;
    for (size_t i = 1; i < dims.size(); ++i) bytes *= dims[i];
    return bytes;
  }
  /// Rows of one slab.
  hsize_t slab_rows() const {
    if (dims.empty() || row_bytes() == 0) return 1;
    const hsize_t units = std::max<hsize_t>(1, kSlabBytes / row_bytes() / unit_rows);
    return std::min(dims[0], units * unit_rows);
  }
  hsize_t slab_bytes() const { return dims.empty() ? value_bytes : slab_rows() * row_bytes(); }
  bool empty() const { return std::count(dims.begin(), dims.end(), hsize_t(0)) > 0; }
};

/// Calls work(memory space, file space, bytes) for each part of a dataset with `file_space`, in order.
inline void for_each_slab(const Extent& extent, hid_t file_space,
                          const std::function<void(hid_t, hid_t, size_t)>& work) {
  if (extent.empty()) return;
  if (extent.dims.empty()) return work(H5S_ALL, H5S_ALL, size_t(extent.value_bytes));
  std::vector<hsize_t> start(extent.dims.size(), 0), count = extent.dims;
  for (hsize_t row = 0; row < extent.dims[0]; row += count[0]) {
    count[0] = std::min(extent.slab_rows(), extent.dims[0] - row);
    start[0] = extent.first_row + row;
    checked(H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr),
            "cannot select rows");
    const Handle memory(H5Screate_simple(int(count.size()), count.data(), nullptr), "cannot describe rows");
    work(memory, file_space, size_t(count[0] * extent.row_bytes()));
  }
}

}  // namespace cortado::hdf5
