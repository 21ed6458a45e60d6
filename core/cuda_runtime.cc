#include "core/cuda_runtime.h"

#include "core/context.h"
#include "core/error.h"

#ifdef CORTADO_WITH_CUDA
#include "core/cuda_error.h"
#endif

namespace cortado::cuda {

#ifdef CORTADO_WITH_CUDA

namespace {

cudaStream_t stream_of(const Context& context) { return static_cast<cudaStream_t>(context.stream); }

std::string mebibytes(size_t bytes) { return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB"; }

}  // namespace

void* allocate(int device, size_t bytes) {
  check_cuda(cudaSetDevice(device), "cudaSetDevice");
  void* data = nullptr;
  const cudaError_t status = cudaMalloc(&data, bytes);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // it would be reported again by the next call that is checked
    size_t free = 0, all = 0;
    cudaMemGetInfo(&free, &all);
    throw Error(ExitCode::kDevice,
                "not enough memory on cuda:" + std::to_string(device) + ": " + mebibytes(bytes) + " are needed, " +
                    mebibytes(free) + " of " + mebibytes(all) + " are free",
                "a smaller batch_size needs less memory; `cortado plan` lists the largest values");
  }
  check_cuda(status, "cudaMalloc");
  check_cuda(cudaMemset(data, 0, bytes), "cudaMemset");
  return data;
}

void free(int device, void* data) noexcept {
  cudaSetDevice(device);
  cudaFree(data);
}

bool lock_pages(void* host, size_t bytes) noexcept {
  if (cudaHostRegister(host, bytes, cudaHostRegisterDefault) == cudaSuccess) return true;
  cudaGetLastError();
  return false;
}

void unlock_pages(void* host) noexcept { cudaHostUnregister(host); }

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

void* make_stream(int device) {
  check_cuda(cudaSetDevice(device), "cudaSetDevice");
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return stream;
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

#else

namespace {

[[noreturn]] void throw_without_cuda() {
  throw Error(ExitCode::kDevice, "this program was built without CUDA", "--cpu runs on the CPU");
}

}  // namespace

void* allocate(int, size_t) { throw_without_cuda(); }
void free(int, void*) noexcept {}
bool lock_pages(void*, size_t) noexcept { return false; }
void unlock_pages(void*) noexcept {}
void copy_async(Context&, void*, const void*, size_t, Way) { throw_without_cuda(); }
void clear_async(Context&, void*, size_t) { throw_without_cuda(); }
void synchronize(Context&) { throw_without_cuda(); }
void begin_capture(Context&) { throw_without_cuda(); }
void* end_capture(Context&) { throw_without_cuda(); }
void abandon_capture(Context&) noexcept {}
void launch_graph(Context&, void*) { throw_without_cuda(); }
void destroy_graph(void*) noexcept {}
void* make_stream(int) { throw_without_cuda(); }
void* make_event() { throw_without_cuda(); }
void free_event(void*) noexcept {}
void record_event(Context&, void*) { throw_without_cuda(); }
void wait_for_event(Context&, void*) { throw_without_cuda(); }
void wait_for_event(void*) { throw_without_cuda(); }

#endif

}  // namespace cortado::cuda
