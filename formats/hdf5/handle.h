#pragma once

#include <hdf5.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace cortado::hdf5 {

/// An error about the file; the program prints the message and exits.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws `what` with the library's reason of its latest failure.
[[noreturn]] void fail(const std::string& what);

/// An identifier of the library, closed by the destructor.
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

/// Returns the result; throws if it is negative, which means that the call failed.
template <typename Result>
Result checked(Result result, const std::string& what) {
  if (result < 0) fail(what);
  return result;
}

}  // namespace cortado::hdf5
