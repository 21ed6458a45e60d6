#include "tools/runs/tensorboard/record_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "core/files/crc.h"

namespace cortado::runs {

namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written in memory order");

constexpr size_t kHead = 12, kTail = 4;

uint32_t masked(std::string_view bytes) { return std::rotr(crc32c_of(bytes), 15) + 0xA282EAD8u; }

template <typename Number>
std::string bytes_of(Number number) {
  return std::string(reinterpret_cast<const char*>(&number), sizeof number);
}

template <typename Number>
Number number_in(std::string_view bytes, size_t at) {
  Number number;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

}  // namespace

std::string framed_record(std::string_view bytes) {
  const std::string length = bytes_of(uint64_t(bytes.size()));
  return length + bytes_of(masked(length)) + std::string(bytes) + bytes_of(masked(bytes));
}

RecordFile::RecordFile(const std::string& path)
    : path_(path), file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666)) {
  if (file_ < 0) throw Error(ExitCode::kIo, "cannot write " + path + ": " + std::strerror(errno));
}

RecordFile::~RecordFile() { ::close(file_); }

bool RecordFile::append(std::string_view bytes) {
  const std::string record = framed_record(bytes);
  const off_t begin = ::lseek(file_, 0, SEEK_END);
  for (size_t done = 0; done < record.size();) {
    const ssize_t written = ::write(file_, record.data() + done, record.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      [[maybe_unused]] const int cut = ::ftruncate(file_, begin);
      return false;
    }
    done += size_t(written);
  }
  return true;
}

std::vector<std::string> records_in(std::string_view content) {
  std::vector<std::string> records;
  while (content.size() >= kHead + kTail) {
    const uint64_t length = number_in<uint64_t>(content, 0);
    if (number_in<uint32_t>(content, 8) != masked(content.substr(0, 8))) break;
    if (length > content.size() - kHead - kTail) break;
    const std::string_view bytes = content.substr(kHead, length);
    if (number_in<uint32_t>(content, kHead + length) != masked(bytes)) break;
    records.emplace_back(bytes);
    content.remove_prefix(kHead + length + kTail);
  }
  return records;
}

}  // namespace cortado::runs
