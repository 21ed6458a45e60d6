#pragma once

// What is to happen to which call. The environment says it:
//   FAULT=GROUP:K:ACTION[:ERRNO][,...]   to the K-th call of a group ("write") or of one function ("renameat2"):
//                                        fail (this one), failon (this and all after it), short (half of the bytes),
//                                        before and after (the process is gone before it, or just behind it)
//   FAULT_UNDER=FOLDER    only calls about what lies below it count, so that the loader's own do not
//   FAULT_PROGRAM=NAME    only in that program, which may be a child: children inherit all of this
//   FAULT_LOG=FILE        a line for each call that counts, and one, "fired", for each that was struck
//   FAULT_BUDGET=BYTES    so much may be written below the folder; then writes are short, and then ENOSPC
//   FAULT_RESERVE=no      space cannot be reserved: a file system without fallocate
// Memory (group "malloc") counts from the first file that is opened below the folder: what a program allocates before
// main() nobody can answer for.

#include <cstddef>

namespace faults {

struct Verdict {
  int error = 0;      ///< fail with it; 0: go on
  bool half = false;  ///< of the bytes
  bool die_after = false;
};

/// About a call of the function `name` of a group. `path`: absolute, or null where the call has none.
Verdict strike(const char* group, const char* name, const char* path);
/// The same for an allocation, which counts everywhere; true: it fails.
bool strike_memory(const char* name);
int strike_thread();  ///< the errno that a new thread fails with, wherever it is made; 0: it is made

bool counts(const char* path);  ///< it lies below the folder
bool reserving_is_refused();
size_t within_budget(size_t bytes);  ///< how many of them may be written; takes them
[[noreturn]] void die();

constexpr int kEnded = 99;  ///< how die() exits

}  // namespace faults
