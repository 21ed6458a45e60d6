#pragma once

// Archives of datasets: tar (POSIX ustar and pax, GNU's long names), plain or compressed by gzip, xz or zstd, and zip.
// Links, folders and devices are skipped. Names of members are never used to create files.

#include <cstdint>
#include <string>
#include <vector>

#include "core/files/descriptor.h"

namespace cortado::data {

/// A regular file in an archive.
struct ArchiveMember {
  std::string name;
  int64_t size = 0;
  int64_t offset = 0;  ///< of its content, in the archive or, if it is compressed, in the decompressed data
  bool packed = false;
};

/// Archives whose files can be read in any order. Compressed ones are decompressed once, into an unnamed file in
/// $TMPDIR (or /tmp). No archive is kept open.
class Archives {
 public:
  /// The archive's files, in its order. Throws Error(kIo), also if libarchive is missing. Throws Error(kData) if the
  /// file is not an archive, is damaged or truncated, contains no file or one with a path outside of its folder, or
  /// would decompress to more than 200 times its size and 64 MiB.
  std::vector<ArchiveMember> list(const std::string& path);

  /// The content of a file. From compressed archives only files of up to kMaxImageFileBytes can be read, because larger
  /// ones are not stored. Throws Error(kIo).
  std::string read(const std::string& path, const ArchiveMember& member) const;

 private:
  class Reader;
  void place(Reader& reader, ArchiveMember& member);

  Descriptor unpacked_;
  int64_t unpacked_bytes_ = 0;
};

}  // namespace cortado::data
