#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/files/file.h"
#include "formats/wire.h"

namespace cortado {

/// A file in an archive.
struct ZipEntry {
  std::string name;
  std::string_view content;  ///< a view of the archive
};

/// The files of a zip archive, in the order of its directory, their check sums compared. Throws Error(file.code) where
/// the archive is damaged, or where a file is compressed, encrypted, or beyond 4 GiB.
std::vector<ZipEntry> read_zip(const WireFile& file);

/// Writes files into an archive as they are, not compressed. Atomic: without commit() the path keeps its old content.
class ZipWriter {
 public:
  /// `bytes`: of all files together. Throws Error(kSnapshot) past the 4 GiB that such an archive can hold.
  ZipWriter(const std::string& path, int64_t bytes);
  void begin(const std::string& name, uint64_t bytes, uint32_t crc);  ///< then that many come, of this crc_of()
  void append(std::string_view piece);
  std::string commit();  ///< the digest of the archive's bytes

 private:
  std::string path_, directory_;
  AtomicFile file_;
  Digest digest_;
  uint64_t at_ = 0;
  unsigned files_ = 0;
};

}  // namespace cortado
