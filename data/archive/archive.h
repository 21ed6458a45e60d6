#pragma once

// Archives as datasets use them: tar (POSIX ustar and pax, GNU's long names), packed by gzip, xz or zstd or not, and
// zip. Links, folders and devices are passed over, and names are words: no file is made under one.

#include <cstdint>
#include <string>
#include <vector>

#include "core/files/descriptor.h"

namespace cortado::data {

/// A regular file in an archive.
struct ArchiveMember {
  std::string name;
  int64_t size = 0;
  int64_t offset = 0;  ///< of its content within the archive or, where it was packed, within what was unpacked
  bool packed = false;
};

/// Archives whose files can be read in any order. What is packed is unpacked once, into a file without a name in
/// $TMPDIR (or /tmp); no archive stays open.
class Archives {
 public:
  /// The archive's files, in its order. Throws Error(kIo), also where libarchive is not here; Error(kData) for what is
  /// no archive, is damaged or cut off, holds no file, names one outside of its folder, or would unpack to more than
  /// 200 times its size and 64 MiB.
  std::vector<ArchiveMember> list(const std::string& path);

  /// The content of a file in it, of a packed one only if it has no more than kMaxImageFileBytes: others are not kept.
  /// Throws Error(kIo).
  std::string read(const std::string& path, const ArchiveMember& member) const;

 private:
  class Reader;
  void place(Reader& reader, ArchiveMember& member);

  Descriptor unpacked_;
  int64_t unpacked_bytes_ = 0;
};

}  // namespace cortado::data
