// A header is 512 bytes: name (100), mode, owner, group (8 each), size (12, octal, or binary with the top bit set),
// time (12), checksum (8), type (1), link (100), "ustar" and version (8), ..., at 345 a prefix (155) of the name.
// Contents follow, filled up to blocks of 512. Two blocks of zeros end the archive. Type 'x' holds lines "LENGTH
// KEY=VALUE\n" about the next member, 'L' its long name.
#include "data/formats/tar.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "core/error.h"
#include "core/files/descriptor.h"

namespace cortado::data {

namespace {

constexpr int64_t kBlock = 512, kMostOfExtra = 1 << 20;
using Header = std::array<char, kBlock>;

class TarFile {
 public:
  explicit TarFile(const std::string& path) : path_(path) {
    std::string why;
    file_ = open_regular_file(path, why);
    if (!file_.ok()) throw file_error(ExitCode::kIo, path, "cannot read: " + why);
    bytes_ = ::lseek(file_.fd(), 0, SEEK_END);
  }

  int64_t bytes() const { return bytes_; }
  void read(int64_t offset, char* to, int64_t size) const {
    if (offset < 0 || size < 0 || offset > bytes_ || size > bytes_ - offset) fail("it is cut off");
    for (int64_t done = 0; done < size;) {
      const ssize_t got = ::pread(file_.fd(), to + done, size_t(size - done), offset + done);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) throw file_error(ExitCode::kIo, path_, "cannot read: " + std::string(std::strerror(errno)));
      done += got;
    }
  }
  [[noreturn]] void fail(const std::string& what, const std::string& hint = {}) const {
    throw file_error(ExitCode::kData, path_, what, hint);
  }

 private:
  std::string path_;
  Descriptor file_;
  int64_t bytes_ = 0;
};

std::string text_at(const Header& header, size_t offset, size_t size) {
  return std::string(&header[offset], ::strnlen(&header[offset], size));
}

/// A number field; -1: it is none.
int64_t number_at(const Header& header, size_t offset, size_t size) {
  if (header[offset] & 0x80) {
    int64_t value = static_cast<unsigned char>(header[offset]) & 0x7F;
    for (size_t i = 1; i < size; ++i) {
      if (value >> 54) return -1;
      value = value << 8 | static_cast<unsigned char>(header[offset + i]);
    }
    return value;
  }
  std::string digits = text_at(header, offset, size);
  digits.erase(0, std::min(digits.find_first_not_of(' '), digits.size()));
  int64_t value = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 8);
  return failure == std::errc() && (end == digits.data() + digits.size() || *end == ' ') ? value : -1;
}

bool right_checksum(const Header& header) {
  int64_t sum = 0;
  for (size_t i = 0; i < header.size(); ++i) sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(header[i]);
  return number_at(header, 148, 8) == sum;
}

/// The value of `key` in a pax header's lines; "": none.
std::string pax_value(const std::string& lines, const std::string& key) {
  for (size_t at = 0; at < lines.size();) {
    size_t length = 0;
    const auto [end, failure] = std::from_chars(lines.data() + at, lines.data() + lines.size(), length);
    const size_t digits = size_t(end - lines.data()) - at;
    if (failure != std::errc() || length <= digits + 1 || length > lines.size() - at) return "";
    const std::string line = lines.substr(at + digits + 1, length - digits - 2);
    if (line.starts_with(key + "=")) return line.substr(key.size() + 1);
    at += length;
  }
  return "";
}

std::string name_of(const Header& header) {
  const std::string name = text_at(header, 0, 100);
  const std::string prefix =
      std::memcmp(&header[257], "ustar", 5) == 0 && header[262] == 0 ? text_at(header, 345, 155) : "";
  return prefix.empty() ? name : prefix + "/" + name;
}

}  // namespace

std::vector<TarMember> read_tar(const std::string& path) {
  const TarFile file(path);
  std::vector<TarMember> members;
  std::string long_name, pax;
  Header header;
  for (int64_t at = 0; at + kBlock <= file.bytes();) {
    file.read(at, header.data(), kBlock);
    if (header == Header{}) break;
    if (!right_checksum(header)) {
      if (at > 0) file.fail("it is damaged: at byte " + std::to_string(at) + " there is no header of a member");
      const bool packed = header[0] == '\x1F' && header[1] == '\x8B';
      file.fail("this is no tar archive", packed ? "it is packed: `gunzip` it first" : "");
    }
    const int64_t stated = number_at(header, 124, 12), content = at + kBlock;
    const char type = header[156];
    const std::string size_told = type == 'x' || type == 'L' ? "" : pax_value(pax, "size");
    const int64_t size = size_told.empty() ? stated : std::strtoll(size_told.c_str(), nullptr, 10);
    if (size < 0 || size > file.bytes() - content)
      file.fail("it is cut off, or damaged, at byte " + std::to_string(at));
    at = content + (size + kBlock - 1) / kBlock * kBlock;
    if (type == 'x' || type == 'L') {
      if (size > kMostOfExtra) file.fail("it is damaged: the name of a member has " + std::to_string(size) + " bytes");
      std::string extra(size_t(size), '\0');
      file.read(content, extra.data(), size);
      (type == 'x' ? pax : long_name) = type == 'x' ? extra : std::string(extra.c_str());
      continue;
    }
    const std::string pax_name = pax_value(pax, "path");
    const std::string name = !pax_name.empty() ? pax_name : !long_name.empty() ? long_name : name_of(header);
    if (type == '0' || type == 0) members.push_back({name, content, size});
    if (type != 'g') pax.clear();
    long_name.clear();
  }
  if (members.empty()) file.fail("there are no files in this archive");
  return members;
}

std::string read_tar_member(const std::string& path, int64_t offset, int64_t size) {
  std::string content(size_t(size), '\0');
  TarFile(path).read(offset, content.data(), size);
  return content;
}

}  // namespace cortado::data
