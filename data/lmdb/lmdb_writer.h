#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/forks.h"
#include "data/lmdb/dataset_names.h"

struct MDB_env;

namespace cortado::data {

/// Builds an LMDB folder in `path.tmp.PID` and renames it when complete. Until commit() returns, `path` does not exist
/// or is unchanged (data/lmdb/folder_exchange.h). Extends its map as needed. Not thread-safe.
class LmdbWriter {
 public:
  static constexpr size_t kMaxKeyBytes = 511;

  /// Throws Error(kIo) if the folder cannot be created, or if `path` exists and `replace` is false. An existing `path`
  /// is replaced only if it is an LMDB or an empty folder. `names` are written with the records; the links next to
  /// `path` replace files with the same names.
  explicit LmdbWriter(const std::string& path, bool replace = false, DatasetNames names = {});
  ~LmdbWriter();  ///< without commit(): removes the temporary folder
  LmdbWriter(const LmdbWriter&) = delete;
  LmdbWriter& operator=(const LmdbWriter&) = delete;

  /// Adds a record; ascending keys are fastest. Keys have 1 to 511 bytes. Throws Error(kIo) (disk full, ...), or
  /// Error(kData) for a key that is empty, too long or a duplicate.
  void put(std::string_view key, std::string_view value);
  /// Writes everything, syncs, and renames the folder. Throws Error(kIo). Do not call put() afterwards.
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
  MadeHere made_here_;
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
