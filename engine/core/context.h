#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <typeindex>

#include "core/device.h"
#include "core/precision.h"

namespace cortado {

class Recording;

/// The number of pieces into which work is divided if `threads` compute it: at least two for each. Up to four threads
/// have equally many.
int default_pieces(int threads);

/// The largest suitable number of pieces up to `most`, at least 1: two threads share an even number evenly.
constexpr int64_t even_pieces(double most) { return most < 2 ? 1 : int64_t(most) / 2 * 2; }

/// Contexts with equal options produce bitwise equal results.
struct ContextOptions {
  int threads = 1;    ///< compute threads; they change results only by default_pieces()
  uint64_t seed = 1;  ///< of all random draws in layers
  Device device = {};
  Precision precision = Precision::kFp32;  ///< of the context's nets
  bool captures = true;                    ///< whether CapturedWork may use CUDA graphs; false for debugging
  bool runs = true;                        ///< false: kernels are planned but not run, so no GPU is needed
};

/// Everything that work needs besides its operands: the options, the device's stream, the counter of random draws, and
/// the library handles. Always passed as an argument. Use one per thread that runs nets. Nets keep a reference to it,
/// and it owns the handles, so it can be neither copied nor moved.
class Context {
 public:
  /// Throws Error(kDevice) if the device does not exist.
  explicit Context(const ContextOptions& options = {});
  explicit Context(int threads, uint64_t seed = 1) : Context(ContextOptions{.threads = threads, .seed = seed}) {}
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Device device;
  const Precision precision;
  const bool captures;
  int threads;
  int pieces;  ///< of work, for the free threads; sums depend on it. A resumed run or a rank sets this and the seed
               ///< before it builds nets
  uint64_t seed;

  uint64_t pass = 0;  ///< index of the forward pass, counted over the whole training. A draw is a function of (seed,
                      ///< pass, layer, element), so no random state needs saving.
  uint64_t* device_pass = nullptr;  ///< `pass` in device memory; null on the CPU
  uint64_t joins = 0;               ///< number of times at which pieces in other threads were waited for
  Recording* recording = nullptr;   ///< if set, the simulated device records work here instead of running it

  /// Whether device memory is host memory, which the host may access at any time.
  bool shares_host_memory() const { return device.is_cpu(); }

  /// The CUDA stream; null on other devices.
  void* stream() const { return stream_.get(); }

  /// The address from which kernels read `pass`. The value may change between runs of a recorded kernel.
  const uint64_t* pass_word() const { return device_pass ? device_pass : &pass; }

  /// The vendor library's handle of type T (an engine, a stream, a workspace), created at first use.
  template <typename T>
  T& handle() {
    auto found = handles_.find(typeid(T));
    if (found == handles_.end())
      found = handles_.emplace(typeid(T), Handle(new T, [](void* held) { delete static_cast<T*>(held); })).first;
    return *static_cast<T*>(found->second.get());
  }

 private:
  using Handle = std::unique_ptr<void, void (*)(void*)>;

  std::shared_ptr<void> stream_;  ///< declared first: it must outlive the handles
  std::map<std::type_index, Handle> handles_;
};

}  // namespace cortado
