// No function here may allocate or call an intercepted function: it would recurse.
#include "tests/faults/preload/rules.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace faults {

namespace {

enum class Action { kFail, kFailOn, kShort, kBefore, kAfter };

struct Rule {
  char name[32] = {};
  long at = 0;
  Action action = Action::kFail;
  int error = 0;
  std::atomic<long> calls{0};
};

constexpr int kMaxRules = 4;
struct Rules {
  Rule rules[kMaxRules];
  int count = 0;
  const char* under = nullptr;
  bool here = true;  ///< the rules apply to this program
  bool memory = false;
  int log = -1;
  bool no_reserve = false;
  std::atomic<long> budget{-1}, allocations{0};

  Rules();
  void add(const char* text);
};

bool is_this_program(const char* name) {
  char path[4096];
  const long n = ::syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", path, sizeof path - 1);
  if (n < 0) return false;
  path[n] = '\0';
  const char* slash = std::strrchr(path, '/');
  return std::strcmp(slash ? slash + 1 : path, name) == 0;
}

Rules::Rules() {
  if (const char* text = std::getenv("FAULT"))
    for (; text && count < kMaxRules; text = std::strchr(text, ',') ? std::strchr(text, ',') + 1 : nullptr) add(text);
  under = std::getenv("FAULT_UNDER");
  if (const char* program = std::getenv("FAULT_PROGRAM")) here = is_this_program(program);
  if (const char* path = std::getenv("FAULT_LOG")) {
    const int file = int(::syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
    log =
        int(::syscall(SYS_fcntl, file, F_DUPFD_CLOEXEC, 900));  // so that the program's descriptors keep their numbers
    ::syscall(SYS_close, file);
  }
  if (const char* bytes = std::getenv("FAULT_BUDGET")) budget = std::atol(bytes);
  if (const char* word = std::getenv("FAULT_RESERVE")) no_reserve = std::strcmp(word, "no") == 0;
}

/// GROUP:K:ACTION[:ERRNO]
void Rules::add(const char* text) {
  Rule& rule = rules[count];
  char action[16] = {};
  if (std::sscanf(text, "%31[^:]:%ld:%15[^:,]:%d", rule.name, &rule.at, action, &rule.error) < 3) return;
  const char* names[] = {"fail", "failon", "short", "before", "after"};
  for (int i = 0; i < 5; ++i)
    if (std::strcmp(action, names[i]) == 0) rule.action = Action(i);
  memory = memory || std::strcmp(rule.name, "malloc") == 0;
  ++count;
}

/// Not in Rules: allocations read it while the Rules are constructed.
std::atomic<bool> begun{false};

Rules& rules() {
  static Rules all;
  return all;
}

void write_log(const char* word, const char* group, const char* name, const char* path) {
  if (rules().log < 0) return;
  char line[4400];
  const int n = std::snprintf(line, sizeof line, "%s %s %s %d %s\n", word, group, name, int(::getpid()), path);
  ::syscall(SYS_write, rules().log, line, size_t(n) < sizeof line ? size_t(n) : sizeof line - 1);
}

/// Counts the call if the rule matches it. Returns whether the rule applies to this call.
bool applies(Rule& rule, const char* group, const char* name) {
  if (std::strcmp(rule.name, group) != 0 && std::strcmp(rule.name, name) != 0) return false;
  const long call = ++rule.calls;
  return call == rule.at || (rule.action == Action::kFailOn && call > rule.at);
}

/// Whether the allocation is for code that nobody can make safe: oneDNN 2, which does not check its allocations, and
/// the C library's list of thread-local destructors, without which it ends the process.
bool is_unchecked() {
  void* stack[64];
  const int depth = ::backtrace(stack, int(std::size(stack)));
  for (int i = 0; i < depth; ++i) {
    Dl_info at{};
    if (::dladdr(stack[i], &at) == 0) continue;
    if (at.dli_fname != nullptr && std::strstr(at.dli_fname, "libdnnl") != nullptr) return true;
    if (at.dli_sname != nullptr && std::strstr(at.dli_sname, "__cxa_thread_atexit") != nullptr) return true;
  }
  return false;
}

}  // namespace

void die() {
  for (;;) ::syscall(SYS_exit_group, kEnded);
}

bool counts(const char* path) {
  const Rules& all = rules();
  if (!all.here || path == nullptr) return false;
  if (all.under == nullptr) return true;
  const size_t n = std::strlen(all.under);
  return std::strncmp(path, all.under, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

Verdict inject(const char* group, const char* name, const char* path) {
  Verdict verdict;
  if (!counts(path)) return verdict;
  Rules& all = rules();
  begun = true;
  write_log("call", group, name, path);
  for (int i = 0; i < all.count; ++i) {
    Rule& rule = all.rules[i];
    if (!applies(rule, group, name)) continue;
    write_log("fired", group, name, path);
    if (rule.action == Action::kBefore) die();
    if (rule.action == Action::kAfter) verdict.die_after = true;
    if (rule.action == Action::kShort) verdict.half = true;
    if (rule.action == Action::kFail || rule.action == Action::kFailOn) verdict.error = rule.error;
  }
  return verdict;
}

bool inject_memory_fault(const char* name) {
  if (!begun.load(std::memory_order_relaxed)) return false;
  Rules& all = rules();
  if (!all.here) return false;
  ++all.allocations;
  if (!all.memory) return false;
  for (int i = 0; i < all.count; ++i)
    if (applies(all.rules[i], "malloc", name)) {
      if (is_unchecked()) return false;
      const long call = all.rules[i].calls;
      if (call == all.rules[i].at) write_log("fired", "malloc", name, "-");
      return true;
    }
  return false;
}

int inject_thread_fault() {
  Rules& all = rules();
  for (int i = 0; i < all.count; ++i)
    if (all.here && applies(all.rules[i], "thread", "pthread_create")) return all.rules[i].error;
  return 0;
}

bool reserving_is_refused() { return rules().no_reserve; }

size_t within_budget(size_t bytes) {
  std::atomic<long>& budget = rules().budget;
  long left = budget.load();
  if (left < 0) return bytes;
  size_t taken;
  do taken = size_t(left) < bytes ? size_t(left) : bytes;
  while (!budget.compare_exchange_weak(left, left - long(taken)));
  return taken;
}

namespace {

/// Logs the number of allocations, for tests that make each of them fail.
__attribute__((destructor)) void log_allocations() {
  char count[32];
  std::snprintf(count, sizeof count, "%ld", rules().allocations.load());
  if (begun && rules().here) write_log("total", "malloc", count, "-");
}

}  // namespace

}  // namespace faults
