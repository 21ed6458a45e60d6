#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/files/descriptor.h"

namespace cortado {

/// Installs a SIGBUS handler for memory-mapped files. If a mapped file shrinks or its disk fails, access to a lost page
/// raises SIGBUS, which would end the process. The handler maps a page of zeros instead and marks the file as damaged.
/// For programs only: in a library the host program owns the signals.
void guard_mapped_files();

struct MapGuard;

/// A whole file mapped for reading. Readers check damaged() after reading and report an error.
class MappedFile {
 public:
  /// Throws Error(kIo) with the path and the reason, also for non-regular files. An empty file maps to no bytes.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const uint8_t* data() const { return data_; }
  int64_t size() const { return size_; }
  const std::string& path() const { return path_; }
  /// Whether pages were lost or the file has shrunk. Costs one system call.
  bool damaged() const;

  /// Announces random access, which disables readahead.
  void expect_random_reads() const;
  void will_need(std::string_view part) const;  ///< starts readahead of a part

 private:
  void map();

  std::string path_;
  const uint8_t* data_ = nullptr;
  int64_t size_ = 0;
  Descriptor file_;
  MapGuard* guard_ = nullptr;  ///< entry in the SIGBUS handler's table
};

}  // namespace cortado
