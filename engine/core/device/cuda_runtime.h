#pragma once

// The few calls of the CUDA runtime that core/ needs, behind functions that exist in every build: without CUDA they
// throw Error(kDevice).

#include <cstddef>
#include <memory>

namespace cortado {

class Context;

namespace cuda {

void* allocate(int device, size_t bytes);  ///< throws Error(kDevice) with the bytes needed and free
void free(int device, void* data) noexcept;
void* allocate_locked(int device,
                      size_t bytes) noexcept;  ///< page-locked host memory of zeros; null where there is none
void free_locked(void* host) noexcept;

enum class Way { kToDevice, kToHost, kOnDevice };
void copy_async(Context& context, void* to, const void* from, size_t bytes, Way way);
void clear_async(Context& context, void* to, size_t bytes);
void synchronize(Context& context);

/// What is enqueued on the context's stream between these two by this thread is recorded, not done.
void begin_capture(Context& context);
void* end_capture(Context& context);  ///< the graph, for launch_graph
void abandon_capture(Context& context) noexcept;
void launch_graph(Context& context, void* graph);
void destroy_graph(void* graph) noexcept;

/// A stream of the device, which becomes the calling thread's current one. Once released it goes to the
/// next caller: contexts may come and go by the thousand.
std::shared_ptr<void> make_stream(int device);
void enter(int device);  ///< the calling thread's work goes there

void* make_event();  ///< of the calling thread's current device
void free_event(void* event) noexcept;
void record_event(Context& context, void* event);
void wait_for_event(Context& context, void* event);  ///< the stream waits
void wait_for_event(void* event);                    ///< the caller waits
bool event_is_past(void* event);

}  // namespace cuda

}  // namespace cortado
