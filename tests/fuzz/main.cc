// libFuzzer's entry points, for all targets.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "core/log.h"
#include "tests/fuzz/fuzzed.h"

namespace cortado::fuzz {

FuzzedFile::FuzzedFile(std::string_view content) {
  static const int file = ::memfd_create("fuzzed", MFD_CLOEXEC);
  path_ = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file);
  if (::ftruncate(file, 0) != 0 || ::pwrite(file, content.data(), content.size(), 0) != ssize_t(content.size()))
    std::abort();
}

std::string_view take_text(std::string_view& input) {
  const size_t end = input.find('\0');
  const std::string_view text = input.substr(0, end);
  input.remove_prefix(end == input.npos ? input.size() : end + 1);
  return text;
}

}  // namespace cortado::fuzz

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  cortado::set_log_level(cortado::Severity::kError);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cortado::fuzz::fuzz({reinterpret_cast<const char*>(data), size});
  return 0;
}
