#pragma once

#include <vector>

#include "server/batching/request.h"

namespace cortado::server {

/// Copies the rows of all requests one behind the other into `arrays`, whose memory is used again, and fills up with
/// zeros to `rows`. The requests have the same inputs with equal extents behind the first.
void gather(const std::vector<RequestPtr>& requests, int64_t rows, Arrays& arrays);

/// The outputs that `request` wants, of its rows from `first` on; where `all`, the arrays as they are.
Arrays scatter(const Arrays& outputs, const Request& request, int64_t first, bool all);

/// The least of the prepared numbers of rows, 1, 2, 4 ... `most`, that holds `rows`.
int64_t padded_rows(int64_t rows, int64_t most);

/// All of them, in order.
std::vector<int64_t> prepared_rows(int64_t most);

}  // namespace cortado::server
