#pragma once

// The rules for faults, which the environment sets:
//   FAULT=GROUP:K:ACTION[:ERRNO][,...]   applies ACTION to the K-th call of a group ("write") or of a function
//                                        ("renameat2"): fail (this call), failon (this and all later calls), short
//                                        (half of the bytes), before and after (end the process before or after the
//                                        call)
//   FAULT_UNDER=FOLDER    counts only calls on files below FOLDER; this excludes the dynamic loader's
//   FAULT_PROGRAM=NAME    applies the rules only in that program; child processes inherit the environment
//   FAULT_LOG=FILE        logs each counted call, and a line "fired" for each fault
//   FAULT_BUDGET=BYTES    limits the bytes written below the folder; then writes are short, and then fail with ENOSPC
//   FAULT_RESERVE=no      fallocate() fails, as on a file system without it
// Allocations (group "malloc") are counted from the first call on a file below the folder: a program cannot handle
// failures before main().

#include <cstddef>

namespace faults {

struct Verdict {
  int error = 0;      ///< fail with this errno; 0: continue
  bool half = false;  ///< transfer half of the bytes
  bool die_after = false;
};

/// Applies the rules to a call of the function `name` of a group. `path`: absolute, or null if the call has none.
Verdict inject(const char* group, const char* name, const char* path);
/// The same for an allocation, whatever FAULT_UNDER is. Returns true if it must fail, which none does inside oneDNN.
bool inject_memory_fault(const char* name);
int inject_thread_fault();  ///< the errno that pthread_create() must fail with, or 0

bool counts(const char* path);  ///< whether the path is below the folder
bool reserving_is_refused();
size_t within_budget(size_t bytes);  ///< takes up to `bytes` from the budget; returns how many may be written
[[noreturn]] void die();

constexpr int kEnded = 99;  ///< exit code of die()

}  // namespace faults
