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

/// The files of a zip archive in directory order, with their checksums verified. Throws Error(file.code) if
/// the archive is damaged, or a file is compressed, encrypted or beyond 4 GiB.
std::vector<ZipEntry> read_zip(const WireFile& file);

/// Writes an uncompressed archive, atomically: without commit() the path keeps its old content.
class ZipWriter {
 public:
  /// `bytes` is the total size of all files. Throws Error(kSnapshot) above 4 GiB, the limit of the format.
  ZipWriter(const std::string& path, int64_t bytes);
  void begin(const std::string& name, uint64_t bytes,
             uint32_t crc);  ///< append() must add `bytes` bytes with this crc_of()
  void append(std::string_view piece);
  std::string commit();  ///< returns the digest of the archive

 private:
  std::string path_, directory_;
  AtomicFile file_;
  Digest digest_;
  uint64_t at_ = 0;
  unsigned files_ = 0;
};

}  // namespace cortado
