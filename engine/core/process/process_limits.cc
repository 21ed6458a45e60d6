#include "core/process/process_limits.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "core/process/sanitized.h"

namespace cortado {

namespace {

void limit(int resource, rlim_t most) {
  rlimit now;
  if (::getrlimit(resource, &now) != 0) return;
  now.rlim_cur = std::min(most, now.rlim_max);
  ::setrlimit(resource, &now);
}

}  // namespace

void limit_memory(int64_t bytes) {
  if (!kSanitized) limit(RLIMIT_AS, rlim_t(bytes));
}

void limit_seconds(int64_t seconds) {
  rusage used;
  ::getrusage(RUSAGE_SELF, &used);
  limit(RLIMIT_CPU, rlim_t(used.ru_utime.tv_sec + used.ru_stime.tv_sec + seconds));
}

void allow_many_files() {
  constexpr rlim_t kMany = 65536;  // with a larger limit, programs that close all possible descriptors take seconds
  rlimit now;
  if (::getrlimit(RLIMIT_NOFILE, &now) == 0 && now.rlim_cur < kMany) limit(RLIMIT_NOFILE, kMany);
}

int64_t resident_bytes() {
  int64_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * int64_t(::sysconf(_SC_PAGESIZE));
}

void limit_core_files() { limit(RLIMIT_CORE, 0); }

}  // namespace cortado
