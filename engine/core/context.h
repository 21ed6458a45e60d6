#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <typeindex>

#include "core/device.h"
#include "core/precision.h"

namespace cortado {

class Recording;

/// Everything that work needs besides its operands, always passed as an argument: the device and its stream, the number
/// of compute threads, the seed and the counter of every random draw, and the libraries' handles. One per thread that
/// runs nets.
class Context {
 public:
  Context() = default;
  explicit Context(int threads, uint64_t seed = 1) : threads(threads), seed(seed) {}

  Device device;
  void* stream = nullptr;                  ///< a CUDA stream; null on the CPU
  Precision precision = Precision::kFp32;  ///< of nets made for this context
  bool captures = true;            ///< whether CapturedWork may become CUDA graphs; false for looking for mistakes
  Recording* recording = nullptr;  ///< where a simulated device's work is kept instead of done, as in a CUDA graph
  int threads = 1;                 ///< compute threads; the only thread count that may change bits
  uint64_t seed = 1;               ///< of every draw made by layers
  uint64_t pass = 0;  ///< which forward pass this is, counted over the whole training: a draw is a function of
                      ///< (seed, pass, layer, element), so nothing random needs to be saved
  uint64_t* device_pass = nullptr;  ///< the same number in the device's memory, where that is not the host's

  /// Whether the device's memory is the host's, so that the host may read and write it at any time.
  bool shares_host_memory() const { return device.is_cpu(); }

  /// Where kernels read `pass`, which may change while they are recorded once and run often.
  const uint64_t* pass_word() const { return device_pass ? device_pass : &pass; }

  /// The handle of type T of a vendor library (an engine, a stream, a workspace), made at first use.
  template <typename T>
  T& handle() {
    std::shared_ptr<void>& slot = handles_[std::type_index(typeid(T))];
    if (!slot) slot = std::make_shared<T>();
    return *static_cast<T*>(slot.get());
  }

 private:
  std::map<std::type_index, std::shared_ptr<void>> handles_;
};

}  // namespace cortado
