#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/lmdb/dataset_names.h"

struct MDB_env;

namespace cortado::data {

/// Builds a new LMDB folder aside (`path.tmp.PID`) and puts it in place whole: until commit() returns, `path` does not
/// exist or is what it was, and afterwards it is the new one (data/lmdb/folder_exchange.h). Grows its map as needed.
/// Not thread-safe.
class LmdbWriter {
 public:
  static constexpr size_t kMaxKeyBytes = 511;

  /// Throws Error(kIo) when the folder cannot be made, or when `path` exists and `replace` is false. An existing `path`
  /// is replaced only if it is an LMDB or an empty folder. `names` come with the records, and with their links beside
  /// `path` take the place of what is called so.
  explicit LmdbWriter(const std::string& path, bool replace = false, DatasetNames names = {});
  ~LmdbWriter();  ///< without commit(): removes what was built
  LmdbWriter(const LmdbWriter&) = delete;
  LmdbWriter& operator=(const LmdbWriter&) = delete;

  /// Adds a record; keys in rising order are fastest. 1 to 511 bytes of key. Throws Error(kIo) (disk full, ...), or
  /// Error(kData) for a key that is empty, too long or already there.
  void put(std::string_view key, std::string_view value);
  /// Writes all, syncs, and renames into place. Throws Error(kIo). Nothing may be put afterwards.
  void commit();

  int64_t records() const { return records_; }

 private:
  struct Entry {
    std::string key, value;
  };

  void flush();
  int write_pending();
  void close();

  std::string path_, temporary_;
  bool replace_;
  DatasetNames names_;
  MDB_env* env_ = nullptr;
  unsigned int table_ = 0;
  size_t map_size_ = size_t(64) << 20;
  std::vector<Entry> pending_;
  int64_t pending_bytes_ = 0, records_ = 0;
  std::string last_key_;
};

}  // namespace cortado::data
