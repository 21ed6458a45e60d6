#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/files/descriptor.h"

namespace cortado {

/// Memory-mapped files have one trap: when the file shrinks or its disk fails, touching the lost page raises SIGBUS,
/// which ends the process. In a program that has called this a handler puts a page of zeros in its place and marks the
/// file as damaged. For programs alone: in a library the signals are the host's.
void guard_mapped_files();

struct MapGuard;

/// A whole file mapped for reading. Readers check damaged() after they have read and report it as an error.
class MappedFile {
 public:
  /// Throws Error(kIo) naming the path and the system's reason, or that it is no regular file. An empty file maps to no
  /// bytes.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const uint8_t* data() const { return data_; }
  int64_t size() const { return size_; }
  const std::string& path() const { return path_; }
  /// Pages were lost, or the file is shorter than it was. Costs one system call.
  bool damaged() const;

  /// The file will be read at random places: no reading ahead.
  void expect_random_reads() const;
  void will_need(std::string_view part) const;  ///< starts to read a part of the map

 private:
  void map();

  std::string path_;
  const uint8_t* data_ = nullptr;
  int64_t size_ = 0;
  Descriptor file_;
  MapGuard* guard_ = nullptr;  ///< the handler's
};

}  // namespace cortado
