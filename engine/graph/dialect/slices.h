#pragma once

#include "graph/dialect/job.h"

namespace cortado::dialect {

/// The elements [from, to) of an axis; the others are silenced.
Blob cut(Job& job, const Blob& x, int axis, int64_t from, int64_t to);

}  // namespace cortado::dialect
