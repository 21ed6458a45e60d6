#pragma once

#include <memory>

#include "data/lmdb/lmdb.h"
#include "data/source.h"

namespace cortado::data {

/// The message type of a database's records.
enum class RecordKind {
  kDatum,
  kAnnotated,  ///< AnnotatedDatum
  kBoxes,      ///< Datum with an image file, and the boxes of objects in float_data (data/sources/box_reader.h)
};

/// The records of a database, numbered in key order.
std::shared_ptr<const DataSource> lmdb_source(std::shared_ptr<const Lmdb> database,
                                              RecordKind kind = RecordKind::kDatum);

/// The maximum number of objects in one of a database's AnnotatedDatums. Reads all records, but does not open images.
/// Throws Error(kData).
int64_t most_objects(const std::shared_ptr<const Lmdb>& database, bool passes_over_bad = false);

}  // namespace cortado::data
