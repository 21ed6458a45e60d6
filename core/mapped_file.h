#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/descriptor.h"

namespace cortado {

/// A whole file mapped for reading. Memory-mapped files have one trap: when the file shrinks or its disk fails,
/// touching the lost page raises SIGBUS, which normally ends the process. Here a handler (installed with the first map)
/// puts a page of zeros in its place and marks the file as damaged; readers check damaged() afterwards and
/// report it as an error.
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
  int slot_ = -1;  ///< in the handler's table
};

}  // namespace cortado
