#pragma once

#include <vector>

#include "server/batching/request.h"

namespace cortado::server {

/// Concatenates the rows of all requests in `arrays`, whose memory is reused, and pads with zeros to `rows`. The
/// requests have the same inputs, with equal extents after the first.
void gather(const std::vector<RequestPtr>& requests, int64_t rows, Arrays& arrays);

/// The outputs of `request`: its rows from `first` on, or with `all` the whole arrays.
Arrays scatter(const Arrays& outputs, const Request& request, int64_t first, bool all);

/// The smallest prepared number of rows (1, 2, 4 ... `most`) that is at least `rows`.
int64_t padded_rows(int64_t rows, int64_t most);

/// All prepared numbers of rows, ascending.
std::vector<int64_t> prepared_rows(int64_t most);

}  // namespace cortado::server
