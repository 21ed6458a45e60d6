#pragma once

// fork() copies one thread only. Its child has the parent's objects, but no thread that worked for them, and what they
// own on disk or in other processes is still the parent's.

#include <cstdint>

namespace cortado {

/// The number of forks between the start of the program and this process.
uint32_t forks_so_far();

/// A member of objects that own threads, files, folders or processes: where it says no, this process is a child forked
/// after their construction, and their destructors must leave these alone.
class MadeHere {
 public:
  explicit operator bool() const { return forks_ == forks_so_far(); }

 private:
  uint32_t forks_ = forks_so_far();
};

}  // namespace cortado
