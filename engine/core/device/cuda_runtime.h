#pragma once

// The calls of the CUDA runtime that core/ needs, as functions that exist in every build. Without CUDA they throw
// Error(kDevice).

#include <cstddef>
#include <memory>

namespace cortado {

class Context;

namespace cuda {

void* allocate(int device, size_t bytes);  ///< throws Error(kDevice) with the bytes needed and free
void free(int device, void* data) noexcept;
/// Page-locked and zeroed host memory; null on failure.
void* allocate_locked(int device, size_t bytes) noexcept;
void free_locked(void* host) noexcept;

enum class Way { kToDevice, kToHost, kOnDevice };
void copy_async(Context& context, void* to, const void* from, size_t bytes, Way way);
void clear_async(Context& context, void* to, size_t bytes);
void synchronize(Context& context);

/// Work that this thread enqueues on the context's stream between these two calls is recorded and not executed.
void begin_capture(Context& context);
void* end_capture(Context& context);  ///< the graph, for launch_graph
void abandon_capture(Context& context) noexcept;
void launch_graph(Context& context, void* graph);
void destroy_graph(void* graph) noexcept;

/// Returns a stream of `device` and makes the device current for the calling thread. Released streams are reused,
/// because contexts may come and go by the thousand.
std::shared_ptr<void> make_stream(int device);
void enter(int device);  ///< makes the device current for the calling thread

void* make_event();  ///< on the calling thread's current device
void free_event(void* event) noexcept;
void record_event(Context& context, void* event);
void wait_for_event(Context& context, void* event);  ///< the context's stream waits
void wait_for_event(void* event);                    ///< the calling thread waits
bool event_is_past(void* event);

}  // namespace cuda

}  // namespace cortado
