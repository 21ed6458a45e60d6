#pragma once

// LevelDB's tables (.ldb, .sst): sorted entries in blocks, each packed by Snappy or not and followed by its kind and
// checksum; a block that is an index of these; and a footer that tells where the index is. An entry's key begins with a
// part of the key before it:  shared length, other length, value's length (varints), the key's rest, the value.
// A key ends in eight bytes: the number of the write times 256, plus 1, or 0 for a removal.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/mapped_file.h"

namespace cortado::data {

/// One write. Views last until the cursor moves.
struct LeveldbEntry {
  std::string_view key;   ///< the user's
  uint64_t sequence = 0;  ///< later writes have larger ones
  bool removed = false;
  std::string_view value;
};

/// Writes by rising key, of one key the latest first.
class LeveldbCursor {
 public:
  virtual ~LeveldbCursor() = default;
  virtual bool next(LeveldbEntry& entry) = 0;  ///< false behind the last. Throws Error(kIo/kData)
};

/// All entries of a table.
std::unique_ptr<LeveldbCursor> read_leveldb_table(const std::string& path);

}  // namespace cortado::data
