#pragma once

// Which file a call is about.

#include <sys/types.h>

namespace faults {

/// An absolute path, not simplified; "" where there is none.
class Place {
 public:
  explicit Place(int fd);               ///< what a descriptor is open on
  Place(int folder, const char* path);  ///< as openat() takes them
  const char* path() const { return text_; }

 private:
  char text_[4096];
};

}  // namespace faults
