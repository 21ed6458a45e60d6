#pragma once

// One pass over a net's data: how many records it has, and the same net with another batch size for what is left at its
// end.

#include <memory>
#include <vector>

#include "net/net.h"
#include "proto/files/read_text.h"

namespace cortado {

/// Records of the set that the graph's data layers read: all of them the same number. Throws FieldError about `field`,
/// saying what it is for, where no layer knows, or where they differ.
int64_t records_of(const graph::Graph& graph, const std::string& field);
int64_t records_if_known(const graph::Graph& graph);  ///< 0 instead of an error

/// The net with `batch` samples in each batch of its data layers.
std::shared_ptr<const NetFile> with_data_batch(const std::shared_ptr<const NetFile>& file, int64_t batch);
/// The net with a `parts`th of the samples in each batch of its data layers. Throws Error(kNet) at a batch_size that is
/// no multiple.
std::shared_ptr<const NetFile> with_divided_batch(const std::shared_ptr<const NetFile>& file, int64_t parts);

}  // namespace cortado
