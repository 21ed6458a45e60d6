#pragma once

// An intercepted call: a rule may make it fail, else it is passed to the kernel. It uses syscall(), because the C
// library's functions are the ones that are replaced.

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "tests/faults/preload/places.h"
#include "tests/faults/preload/record.h"
#include "tests/faults/preload/rules.h"

namespace faults {

/// `call` returns the system call's result, -1 with errno for an error.
template <typename Call>
long call_with_faults(const char* group, const char* name, const char* path, Call&& call) {
  const Verdict verdict = inject(group, name, path);
  if (verdict.error != 0) {
    errno = verdict.error;
    return -1;
  }
  const long result = call();
  if (verdict.die_after) die();
  return result;
}

/// The same for a call that changes the file at `path`; it is recorded if it succeeds.
template <typename Call, typename Record>
long call_and_record(const char* group, const char* name, const char* path, Call&& call, Record&& record) {
  return call_with_faults(group, name, path, [&] {
    Recording recording;
    const long result = call();
    const int error = errno;
    if (result >= 0 && recording.on() && counts(path)) record(recording, result);
    errno = error;
    return result;
  });
}

}  // namespace faults
