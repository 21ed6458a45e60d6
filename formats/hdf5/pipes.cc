#include "hdf5/pipes.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "hdf5/handle.h"

namespace cortado::hdf5 {

void put(const void* bytes, size_t n) {
  for (const char* from = static_cast<const char*>(bytes); n > 0;) {
    const ssize_t done = ::write(STDOUT_FILENO, from, std::min<size_t>(n, size_t(1) << 30));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw Failure(std::string("cannot write: ") + std::strerror(errno));
    from += done;
    n -= size_t(done);
  }
}

void get(void* bytes, size_t n) {
  for (char* to = static_cast<char*>(bytes); n > 0;) {
    const ssize_t done = ::read(STDIN_FILENO, to, std::min<size_t>(n, size_t(1) << 30));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) throw Failure("unexpected end of the input");
    to += done;
    n -= size_t(done);
  }
}

bool get_head(std::vector<TensorEntry>& entries) {
  std::string eight(8, '\0');
  get(eight.data(), 8);
  const uint64_t length = tensor_header_length(eight);
  if (length == 0) return false;
  if (length > uint64_t(kMaxTensorHeader)) throw Failure("the header of the input is too long");
  std::string json(length, '\0');
  get(json.data(), json.size());
  try {
    entries = parse_tensor_header(json);
  } catch (const std::invalid_argument& error) {
    throw Failure(error.what());
  }
  return true;
}

}  // namespace cortado::hdf5
