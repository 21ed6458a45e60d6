#pragma once

#include <memory>

#include "data/lmdb/lmdb.h"
#include "data/source.h"

namespace cortado::data {

/// The Datums of a database, numbered in key order.
std::shared_ptr<const DataSource> lmdb_source(std::shared_ptr<const Lmdb> database);

}  // namespace cortado::data
