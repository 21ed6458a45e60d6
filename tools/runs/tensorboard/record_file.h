#pragma once

// TFRecord files: each record is its length, a checksum of the length, the bytes and a checksum of them. The checksums
// are CRC-32C, rotated and shifted so that one of a record that holds records stays a good one.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cortado::runs {

/// A record with its length and checksums.
std::string framed_record(std::string_view bytes);

/// Writes records to a new file, each whole and in one write, so that a death leaves at most the last one torn.
class RecordFile {
 public:
  explicit RecordFile(const std::string& path);  ///< throws Error(kIo)
  ~RecordFile();
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  /// False: the disk refused it, and nothing of it is in the file.
  bool append(std::string_view bytes);
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int file_;
};

/// The records of a file's content up to the first that is torn or does not agree with its checksums.
std::vector<std::string> records_in(std::string_view content);

}  // namespace cortado::runs
