#pragma once

// An epoch over a net's data: its number of records, and the same net with another batch size for the last, smaller
// batch.

#include <memory>
#include <vector>

#include "net/net.h"
#include "proto/files/read_text.h"

namespace cortado {

/// Number of records in the dataset of each of the graph's data layers. Throws FieldError about `field`, the option
/// that needs it, where it is unknown or differs between them.
int64_t records_of(const graph::Graph& graph, const std::string& field);
int64_t records_if_known(const graph::Graph& graph);  ///< 0 where records_of() throws

/// The net with `batch` samples in each batch of its data layers.
std::shared_ptr<const NetFile> with_data_batch(const std::shared_ptr<const NetFile>& file, int64_t batch);
/// The net with 1/`parts` of the samples in each batch of its data layers. Throws Error(kNet) at a batch_size that is
/// not a multiple of `parts`.
std::shared_ptr<const NetFile> with_divided_batch(const std::shared_ptr<const NetFile>& file, int64_t parts);

}  // namespace cortado
