#pragma once

#include <hdf5.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace cortado::hdf5 {

/// What is wrong with the file, as a message. The program ends with it.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws `what`, with the library's own reason for its latest failure.
[[noreturn]] void fail(const std::string& what);

/// An identifier of the library, closed at the end.
class Handle {
 public:
  Handle(hid_t id, const std::string& what) : id_(id) {
    if (id < 0) fail(what);
  }
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
  ~Handle() {
    if (id_ >= 0) H5Idec_ref(id_);
  }
  operator hid_t() const { return id_; }

 private:
  hid_t id_;
};

/// A result that is negative where a call failed.
template <typename Result>
Result checked(Result result, const std::string& what) {
  if (result < 0) fail(what);
  return result;
}

}  // namespace cortado::hdf5
