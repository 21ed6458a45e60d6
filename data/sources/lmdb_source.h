#pragma once

#include <memory>

#include "data/lmdb/lmdb.h"
#include "data/source.h"

namespace cortado::data {

/// What the records of a database are.
enum class RecordKind { kDatum, kAnnotated };

/// The records of a database, numbered in key order.
std::shared_ptr<const DataSource> lmdb_source(std::shared_ptr<const Lmdb> database,
                                              RecordKind kind = RecordKind::kDatum);

/// The largest number of objects in one of a database's AnnotatedDatums: all are looked at, no image is opened. Throws
/// Error(kData).
int64_t most_objects(const std::shared_ptr<const Lmdb>& database, bool passes_over_bad = false);

}  // namespace cortado::data
