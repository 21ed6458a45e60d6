#pragma once

// Reading a LevelDB, to convert it: what Caffe makes where nobody names a backend. Its folder holds CURRENT (the name
// of the MANIFEST), the MANIFEST (a log of which tables there are, on which level), tables, and logs of writes that are
// in no table yet. Tables of level 0 overlap; those of each other level follow each other. Of several writes of one key
// the latest counts. Nothing is written to the folder, and no lock is taken.

#include <memory>
#include <string>
#include <vector>

#include "data/convert/leveldb_table.h"

namespace cortado::data {

class Leveldb {
 public:
  /// Throws Error(kIo) where the folder cannot be read, Error(kData) where it is no LevelDB, or is damaged.
  explicit Leveldb(const std::string& folder);

  /// The next record by rising key; false behind the last. Views last until the next call. Throws Error(kIo/kData).
  bool next(std::string_view& key, std::string_view& value);

 private:
  struct Source {
    std::unique_ptr<LeveldbCursor> cursor;
    LeveldbEntry entry;
    bool ended = false;
  };

  void add(std::unique_ptr<LeveldbCursor> cursor);
  Source* first();
  void advance(Source& source) { source.ended = !source.cursor->next(source.entry); }

  std::vector<Source> sources_;
  Source* given_ = nullptr;  ///< its entry was returned by next()
  std::string last_key_;
  bool any_ = false;
};

/// Whether a folder looks like a LevelDB.
bool is_leveldb(const std::string& folder);

}  // namespace cortado::data
