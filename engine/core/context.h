#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <typeindex>

#include "core/device.h"
#include "core/precision.h"

namespace cortado {

class Recording;

/// Which threads loops run on (core/threads/threads.h): as suits the CPU level and what else the machine does, our own
/// pool, or OpenMP's. It changes no bit.
enum class LoopThreads : uint8_t { kAsSuits, kOwn, kOpenMp };

/// What a context is made for. Contexts made from the same options give the same bits.
struct ContextOptions {
  int threads = 1;    ///< compute threads; the only thread count that may change bits
  uint64_t seed = 1;  ///< of every draw made by layers
  Device device = {};
  Precision precision = Precision::kFp32;  ///< of nets made for the context
  bool captures = true;  ///< whether CapturedWork may become CUDA graphs; false for looking for mistakes
  LoopThreads loops = LoopThreads::kAsSuits;
  bool runs = true;  ///< false: kernels are planned and nothing runs, so that a GPU need not be there
};

/// Everything that work needs besides its operands, always passed as an argument: what its options say, the device's
/// stream, the counter of every random draw, and the libraries' handles. One per thread that runs nets. Nets hold on to
/// it, and the handles are its own, so it is neither copied nor moved: who needs another makes it from options.
class Context {
 public:
  /// Throws Error(kDevice) where the device is not there.
  explicit Context(const ContextOptions& options = {});
  explicit Context(int threads, uint64_t seed = 1) : Context(ContextOptions{.threads = threads, .seed = seed}) {}
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Device device;
  const Precision precision;
  const bool captures;
  const LoopThreads loops;
  int threads;  ///< this and the seed are set anew, before nets are made, by a run that goes on or a rank that is told
  uint64_t seed;

  uint64_t pass = 0;  ///< which forward pass this is, counted over the whole training: a draw is a function of
                      ///< (seed, pass, layer, element), so nothing random needs to be saved
  uint64_t* device_pass = nullptr;  ///< the same number in the device's memory, where that is not the host's
  Recording* recording = nullptr;   ///< where a simulated device's work is kept instead of done, as in a CUDA graph

  /// Whether the device's memory is the host's, so that the host may read and write it at any time.
  bool shares_host_memory() const { return device.is_cpu(); }

  /// A CUDA stream; null elsewhere.
  void* stream() const { return stream_.get(); }

  /// Where kernels read `pass`, which may change while they are recorded once and run often.
  const uint64_t* pass_word() const { return device_pass ? device_pass : &pass; }

  /// The handle of type T of a vendor library (an engine, a stream, a workspace), made at first use.
  template <typename T>
  T& handle() {
    auto found = handles_.find(typeid(T));
    if (found == handles_.end())
      found = handles_.emplace(typeid(T), Handle(new T, [](void* held) { delete static_cast<T*>(held); })).first;
    return *static_cast<T*>(found->second.get());
  }

 private:
  using Handle = std::unique_ptr<void, void (*)(void*)>;

  std::shared_ptr<void> stream_;  ///< outlives the handles, which work on it
  std::map<std::type_index, Handle> handles_;
};

}  // namespace cortado
