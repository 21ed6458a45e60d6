#pragma once

// The path of the file that a call operates on.

#include <sys/types.h>

namespace faults {

/// An absolute path, not normalised; "" if there is none.
class Place {
 public:
  explicit Place(int fd);               ///< of an open descriptor
  Place(int folder, const char* path);  ///< of openat()'s arguments
  const char* path() const { return text_; }

 private:
  char text_[4096];
};

}  // namespace faults
