// A zip archive has each file after a local header, then the central directory, then an end record with the directory's
// offset. Only the directory is trusted; local headers are read for their own length only.
#include "formats/zip.h"

#include <cstring>
#include <limits>

#include "core/error.h"
#include "core/files/crc.h"

namespace cortado {

namespace {

constexpr uint32_t kHead = 0x04034b50, kListed = 0x02014b50, kEnd = 0x06054b50;
constexpr size_t kHeadBytes = 30, kListedBytes = 46, kEndBytes = 22, kMaxComment = 65535;
constexpr uint16_t kVersion = 20, kUtf8 = 1 << 11, kStored = 0, kNoTime = 0, kFirstDay = 1 << 5 | 1;

template <typename T>
T load_from(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

template <typename T>
void append_value(T value, std::string& out) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// The offset of the end record, which a comment with a length field follows.
size_t find_end(const WireFile& file) {
  const std::string_view content = file.content;
  for (size_t back = kEndBytes; back <= content.size() && back <= kEndBytes + kMaxComment; ++back) {
    const size_t at = content.size() - back;
    if (load_from<uint32_t>(content, at) == kEnd && load_from<uint16_t>(content, at + 20) == back - kEndBytes)
      return at;
  }
  file.fail("the archive is truncated: its central directory is missing");
}

std::string_view part(const WireFile& file, size_t at, size_t bytes) {
  if (at > file.content.size() || bytes > file.content.size() - at)
    file.fail("the archive's central directory is damaged");
  return file.content.substr(at, bytes);
}

ZipEntry read_entry(const WireFile& file, std::string_view listed, std::string name) {
  const auto refuse = [&](const std::string& why) {
    file.fail("'" + name.substr(0, 100) + "' in the archive " + why,
              "write the archive with numpy.savez(), not numpy.savez_compressed()");
  };
  if (load_from<uint16_t>(listed, 8) & 1) refuse("is encrypted");
  if (load_from<uint16_t>(listed, 10) != kStored) refuse("is compressed");
  const uint32_t bytes = load_from<uint32_t>(listed, 24), at = load_from<uint32_t>(listed, 42);
  if (bytes == UINT32_MAX || at == UINT32_MAX) refuse("is beyond 4 GiB");
  const std::string_view head = part(file, at, kHeadBytes);
  if (load_from<uint32_t>(head, 0) != kHead) file.fail("the archive's central directory is damaged");
  const size_t begin = size_t(at) + kHeadBytes + load_from<uint16_t>(head, 26) + load_from<uint16_t>(head, 28);
  const std::string_view content = part(file, begin, bytes);
  if (crc_of(content) != load_from<uint32_t>(listed, 16)) file.fail("'" + name.substr(0, 100) + "' is damaged");
  return {std::move(name), content};
}

int64_t checked_size(const std::string& path, uint64_t bytes) {
  if (bytes < std::numeric_limits<uint32_t>::max()) return int64_t(bytes);
  throw Error(ExitCode::kSnapshot,
              path + ": " + std::to_string(bytes) + " bytes exceed the limit of a zip archive, 4 GiB",
              "use --format=safetensors, which has no such limit");
}

}  // namespace

std::vector<ZipEntry> read_zip(const WireFile& file) {
  const size_t end = find_end(file);
  const size_t count = load_from<uint16_t>(file.content, end + 10);
  size_t at = load_from<uint32_t>(file.content, end + 16);
  std::vector<ZipEntry> entries;
  uint64_t bytes = 0;
  for (size_t i = 0; i < count; ++i) {
    const std::string_view listed = part(file, at, kListedBytes);
    if (load_from<uint32_t>(listed, 0) != kListed) file.fail("the archive's central directory is damaged");
    const size_t name = load_from<uint16_t>(listed, 28), extra = load_from<uint16_t>(listed, 30),
                 comment = load_from<uint16_t>(listed, 32);
    entries.push_back(read_entry(file, listed, std::string(part(file, at + kListedBytes, name))));
    bytes += entries.back().content.size();
    if (bytes > file.content.size()) file.fail("files of the archive overlap");
    at += kListedBytes + name + extra + comment;
  }
  return entries;
}

ZipWriter::ZipWriter(const std::string& path, int64_t bytes)
    : path_(path), file_(path, checked_size(path, uint64_t(bytes))) {}

void ZipWriter::begin(const std::string& name, uint64_t bytes, uint32_t crc) {
  if (name.size() > std::numeric_limits<uint16_t>::max() || files_ == std::numeric_limits<uint16_t>::max())
    throw Error(ExitCode::kSnapshot, path_ + ": too many arrays or too long a name for a zip archive");
  std::string common;  // shared by the local header and the directory
  for (const uint16_t word : {kVersion, kUtf8, kStored, kNoTime, kFirstDay}) append_value(word, common);
  for (const uint32_t word : {crc, uint32_t(bytes), uint32_t(bytes)}) append_value(word, common);
  append_value(uint16_t(name.size()), common);
  append_value(uint16_t(0), common);  // no extra field
  append_value(kListed, directory_);
  append_value(kVersion, directory_);
  directory_ += common;
  directory_.append(10, '\0');  // no comment, disk 0, no attributes
  append_value(uint32_t(at_), directory_);
  directory_ += name;
  std::string head;
  append_value(kHead, head);
  append(head + common + name);
  ++files_;
}

void ZipWriter::append(std::string_view piece) {
  file_.append(piece);
  digest_.add(piece);
  at_ += piece.size();
}

std::string ZipWriter::commit() {
  const uint64_t directory = at_;
  checked_size(path_, directory + directory_.size());
  append(directory_);
  std::string end;
  append_value(kEnd, end);
  append_value(uint32_t(0), end);  // one disk
  append_value(uint16_t(files_), end);
  append_value(uint16_t(files_), end);
  append_value(uint32_t(directory_.size()), end);
  append_value(uint32_t(directory), end);
  append_value(uint16_t(0), end);  // no comment
  append(end);
  file_.commit();
  return digest_.str();
}

}  // namespace cortado
