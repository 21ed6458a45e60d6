#pragma once

// FAULT_RECORD=FILE: the operations on files below FAULT_UNDER, in order, for power_loss_test.py. Each operation is a
// line of JSON, followed by the bytes whose number it has. Files are identified by inode, because names change.

#include <cstddef>

namespace faults {

/// A lock that is held during an operation and its recording, so that the recorded order is the real one.
class Recording {
 public:
  Recording();
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  bool on() const { return on_; }

  void names(const char* op, const char* from, const char* to = "", unsigned flags = 0);
  void file(const char* op, int fd, const char* path, long at = 0);
  void bytes(int fd, long at, const void* data, size_t size);
  void printed(const void* data, size_t size);  ///< to stdout or stderr

 private:
  bool on_;
};

}  // namespace faults
