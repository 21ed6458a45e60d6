#pragma once

// How an intercepted call goes on: as the system's own, unless a rule strikes it. The system is asked by number, not
// by the C library's functions: those are what is replaced.

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "tests/faults/preload/places.h"
#include "tests/faults/preload/record.h"
#include "tests/faults/preload/rules.h"

namespace faults {

/// `call` returns what the system returned, -1 with errno for an error.
template <typename Call>
long struck(const char* group, const char* name, const char* path, Call&& call) {
  const Verdict verdict = strike(group, name, path);
  if (verdict.error != 0) {
    errno = verdict.error;
    return -1;
  }
  const long result = call();
  if (verdict.die_after) die();
  return result;
}

/// The same for a call that changes what `path` is about, which is recorded where it went well.
template <typename Call, typename Record>
long struck_and_recorded(const char* group, const char* name, const char* path, Call&& call, Record&& record) {
  return struck(group, name, path, [&] {
    Recording recording;
    const long result = call();
    const int error = errno;
    if (result >= 0 && recording.on() && counts(path)) record(recording, result);
    errno = error;
    return result;
  });
}

}  // namespace faults
