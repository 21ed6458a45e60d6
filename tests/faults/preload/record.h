#pragma once

// FAULT_RECORD=FILE: what happens below FAULT_UNDER, in order, for power_loss_test.py. Each operation is a line of
// JSON, and behind it the bytes that it says it has. Files go by the numbers of their inodes, since names move.

#include <cstddef>

namespace faults {

/// Held around an operation and its record, so that the order is the true one.
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
  void said(const void* data, size_t size);  ///< on stdout or stderr

 private:
  bool on_;
};

}  // namespace faults
