#include "tools/runs/environment.h"

#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "core/cpu/cpu.h"
#include "core/cpu/isa_level.h"
#include "core/error.h"
#include "core/files/file.h"
#include "core/files/mapped_file.h"
#include "core/text/text.h"
#include "kernels/devices.h"

namespace cortado::runs {

namespace {

std::string memory_text() {
  struct sysinfo info {};
  if (::sysinfo(&info) != 0) return "unknown";
  return std::to_string((uint64_t(info.totalram) * info.mem_unit) >> 20) + " MiB";
}

}  // namespace

std::string host_name() {
  char name[256] = "unknown";
  ::gethostname(name, sizeof name - 1);
  return name;
}

std::map<std::string, std::string> describe_environment(Context& context) {
  return {{"host", host_name()},
          {"cpu", describe_cpu().name},
          {"level", name_of(kCompiledIsa)},
          {"threads", std::to_string(context.threads)},
          {"memory", memory_text()},
          {"device", context.device.str()},
          {"precision", name_of(context.precision)},
          {"libraries", list_text(kernels::arithmetic_of(context))}};
}

std::string program_version() { return std::string("cortado ") + CORTADO_VERSION; }

namespace {

constexpr int64_t kBlock = 4096, kBlocks = 16384;

std::string digest_of_file(const MappedFile& file) {
  const std::string_view bytes(reinterpret_cast<const char*>(file.data()), size_t(file.size()));
  if (file.size() <= kBlock * kBlocks) return digest_of(bytes);
  Digest digest;
  const int64_t last = file.size() - kBlock;
  for (int64_t i = 0; i < kBlocks; ++i) {
    const int64_t at = last / (kBlocks - 1) * i + last % (kBlocks - 1) * i / (kBlocks - 1);
    digest.add(bytes.substr(size_t(at), size_t(kBlock)));
  }
  return digest.str();
}

}  // namespace

InputFile describe_input(const std::string& kind, const std::string& path) {
  InputFile input{path, kind, 0, {}};
  const std::string database = join_path(path, "data.mdb");
  try {
    const MappedFile file(file_exists(database) ? database : path);
    input.bytes = file.size();
    input.digest = digest_of_file(file);
  } catch (const Error&) {
  }
  return input;
}

}  // namespace cortado::runs
