#pragma once

// Tar archives (POSIX ustar and pax, GNU's long names) as datasets use them: which regular files they hold, and where.
// Nothing is unpacked; what is no regular file is passed over.

#include <cstdint>
#include <string>
#include <vector>

namespace cortado::data {

struct TarMember {
  std::string name;
  int64_t offset = 0, size = 0;  ///< of its content within the archive
};

/// The archive's files in their order; contents are not read. Throws Error(kIo), Error(kData) for what is no tar, is
/// packed (.gz), damaged, or cut off.
std::vector<TarMember> read_tar(const std::string& path);

/// `size` bytes of the archive from `offset` on. Throws Error(kIo).
std::string read_tar_member(const std::string& path, int64_t offset, int64_t size);

}  // namespace cortado::data
