#include "tools/runs/environment.h"

#include <sys/sysinfo.h>
#include <unistd.h>

#include "core/cpu/cpu_name.h"
#include "core/cpu/isa_level.h"
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

}  // namespace cortado::runs
