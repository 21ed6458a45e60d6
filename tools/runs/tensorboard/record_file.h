#pragma once

// TFRecord files. A record is its length, a checksum of the length, the bytes, and a checksum of the bytes. The
// checksums are CRC-32C, rotated and offset, so that the checksum of a record that contains records works as well.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cortado::runs {

/// A record with its length and checksums.
std::string framed_record(std::string_view bytes);

/// Writes records to a new file, each in one write, so that a crash leaves at most the last one incomplete.
class RecordFile {
 public:
  explicit RecordFile(const std::string& path);  ///< throws Error(kIo)
  ~RecordFile();
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  /// Returns false if the write fails; nothing of the record is then in the file.
  bool append(std::string_view bytes);
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int file_;
};

/// The records of a file's content, up to the first incomplete one or one with a wrong checksum.
std::vector<std::string> records_in(std::string_view content);

}  // namespace cortado::runs
