#include "core/device/cuda_runtime.h"

#include <cstring>

#include "core/context.h"
#include "core/error.h"

#ifdef CORTADO_WITH_CUDA
#include <map>
#include <mutex>
#include <vector>

#include "core/device/cuda_error.h"
#include "core/text/text.h"
#endif

namespace cortado::cuda {

#ifdef CORTADO_WITH_CUDA

namespace {

cudaStream_t stream_of(const Context& context) { return static_cast<cudaStream_t>(context.stream()); }

}  // namespace

/// Returns only after the memory is zeroed. The contexts' streams do not synchronize with the stream of cudaMemset, so
/// it could otherwise clear a weight that was filled in the meantime. Only the thread's own stream is synchronized,
/// because other threads may be recording.
void* allocate(int device, size_t bytes) {
  enter(device);
  void* data = nullptr;
  const cudaError_t status = cudaMalloc(&data, bytes);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // resets the error, which the next check would report again
    size_t free = 0, all = 0;
    cudaMemGetInfo(&free, &all);
    throw Error(ExitCode::kDevice,
                "not enough memory on cuda:" + std::to_string(device) + ": " + mebibytes(bytes) + " are needed, " +
                    mebibytes(free) + " of " + mebibytes(all) + " are free",
                "use a smaller batch_size; `cortado plan` lists the largest blobs");
  }
  check_cuda(status, "cudaMalloc");
  check_cuda(cudaMemsetAsync(data, 0, bytes, cudaStreamPerThread), "cudaMemsetAsync");
  check_cuda(cudaStreamSynchronize(cudaStreamPerThread), "cudaStreamSynchronize");
  return data;
}

void free(int device, void* data) noexcept {
  cudaSetDevice(device);
  cudaFree(data);
}

void* allocate_locked(int device, size_t bytes) noexcept {
  void* host = nullptr;
  if (cudaSetDevice(device) == cudaSuccess && cudaHostAlloc(&host, bytes, cudaHostAllocDefault) == cudaSuccess)
    return std::memset(host, 0, bytes);
  cudaGetLastError();
  return nullptr;
}

void free_locked(void* host) noexcept { cudaFreeHost(host); }

void copy_async(Context& context, void* to, const void* from, size_t bytes, Way way) {
  const cudaMemcpyKind kind = way == Way::kToDevice ? cudaMemcpyHostToDevice
                              : way == Way::kToHost ? cudaMemcpyDeviceToHost
                                                    : cudaMemcpyDeviceToDevice;
  check_cuda(cudaMemcpyAsync(to, from, bytes, kind, stream_of(context)), "cudaMemcpyAsync");
}

void clear_async(Context& context, void* to, size_t bytes) {
  check_cuda(cudaMemsetAsync(to, 0, bytes, stream_of(context)), "cudaMemsetAsync");
}

void synchronize(Context& context) { check_cuda(cudaStreamSynchronize(stream_of(context)), "cudaStreamSynchronize"); }

namespace {

struct IdleStreams {
  std::mutex mutex;
  std::map<int, std::vector<cudaStream_t>> of_device;
};

IdleStreams& idle_streams() {
  static auto* all = new IdleStreams;  // outlives every context
  return *all;
}

cudaStream_t idle_stream(int device) {
  IdleStreams& idle = idle_streams();
  const std::lock_guard lock(idle.mutex);
  std::vector<cudaStream_t>& list = idle.of_device[device];
  if (list.empty()) return nullptr;
  const cudaStream_t stream = list.back();
  list.pop_back();
  return stream;
}

}  // namespace

void enter(int device) { check_cuda(cudaSetDevice(device), "cudaSetDevice"); }

std::shared_ptr<void> make_stream(int device) {
  enter(device);
  cudaStream_t stream = idle_stream(device);
  if (!stream) check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return {static_cast<void*>(stream), [device](void* held) {
            IdleStreams& idle = idle_streams();
            const std::lock_guard lock(idle.mutex);
            idle.of_device[device].push_back(static_cast<cudaStream_t>(held));
          }};
}

void begin_capture(Context& context) {
  check_cuda(cudaStreamBeginCapture(stream_of(context), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
}

void* end_capture(Context& context) {
  cudaGraph_t graph = nullptr;
  check_cuda(cudaStreamEndCapture(stream_of(context), &graph), "cudaStreamEndCapture");
  cudaGraphExec_t exec = nullptr;
  const cudaError_t status = cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphDestroy(graph);
  check_cuda(status, "cudaGraphInstantiate");
  return exec;
}

void abandon_capture(Context& context) noexcept {
  cudaGraph_t graph = nullptr;
  cudaStreamEndCapture(stream_of(context), &graph);
  if (graph) cudaGraphDestroy(graph);
  cudaGetLastError();
}

void launch_graph(Context& context, void* graph) {
  check_cuda(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), stream_of(context)), "cudaGraphLaunch");
}

void destroy_graph(void* graph) noexcept { cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph)); }

void* make_event() {
  cudaEvent_t event = nullptr;
  check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  return event;
}

void free_event(void* event) noexcept { cudaEventDestroy(static_cast<cudaEvent_t>(event)); }

void record_event(Context& context, void* event) {
  check_cuda(cudaEventRecord(static_cast<cudaEvent_t>(event), stream_of(context)), "cudaEventRecord");
}

void wait_for_event(Context& context, void* event) {
  check_cuda(cudaStreamWaitEvent(stream_of(context), static_cast<cudaEvent_t>(event), 0), "cudaStreamWaitEvent");
}

void wait_for_event(void* event) {
  check_cuda(cudaEventSynchronize(static_cast<cudaEvent_t>(event)), "cudaEventSynchronize");
}

bool event_is_past(void* event) {
  const cudaError_t state = cudaEventQuery(static_cast<cudaEvent_t>(event));
  if (state != cudaErrorNotReady) check_cuda(state, "cudaEventQuery");
  return state == cudaSuccess;
}

#else

namespace {

[[noreturn]] void throw_without_cuda() {
  throw Error(ExitCode::kDevice, "this program was built without CUDA", "--cpu runs on the CPU");
}

}  // namespace

void* allocate(int, size_t) { throw_without_cuda(); }
void free(int, void*) noexcept {}
void* allocate_locked(int, size_t) noexcept { return nullptr; }
void free_locked(void*) noexcept {}
void copy_async(Context&, void*, const void*, size_t, Way) { throw_without_cuda(); }
void clear_async(Context&, void*, size_t) { throw_without_cuda(); }
void synchronize(Context&) { throw_without_cuda(); }
void begin_capture(Context&) { throw_without_cuda(); }
void* end_capture(Context&) { throw_without_cuda(); }
void abandon_capture(Context&) noexcept {}
void launch_graph(Context&, void*) { throw_without_cuda(); }
void destroy_graph(void*) noexcept {}
std::shared_ptr<void> make_stream(int) { throw_without_cuda(); }
void enter(int) { throw_without_cuda(); }
void* make_event() { throw_without_cuda(); }
void free_event(void*) noexcept {}
void record_event(Context&, void*) { throw_without_cuda(); }
void wait_for_event(Context&, void*) { throw_without_cuda(); }
void wait_for_event(void*) { throw_without_cuda(); }
bool event_is_past(void*) { throw_without_cuda(); }

#endif

}  // namespace cortado::cuda
