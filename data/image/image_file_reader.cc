#include "data/image/image_file_reader.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/files/descriptor.h"

namespace cortado::data {

namespace {

[[noreturn]] void fail_to_read(const std::string& why) {
  throw SampleError("cannot read the file: " + why,
                    "use paths relative to the working folder; root_folder is prepended to them as a string");
}

}  // namespace

std::string_view ImageFileReader::read(const std::string& path) {
  std::string why;
  const Descriptor file = open_regular_file(path, why);
  if (!file.ok()) fail_to_read(why);
  struct stat info;
  if (::fstat(file.fd(), &info) != 0) fail_to_read(std::strerror(errno));
  if (info.st_size > kMaxImageFileBytes) throw SampleError(kImageFileTooLarge);
  content_.resize(size_t(info.st_size));
  size_t have = 0;
  while (have < content_.size()) {
    const ssize_t got = ::read(file.fd(), content_.data() + have, content_.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_to_read(std::strerror(errno));
    if (got == 0) break;
    have += size_t(got);
  }
  content_.resize(have);
  return content_;
}

}  // namespace cortado::data
