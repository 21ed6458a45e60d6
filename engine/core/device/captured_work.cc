#include "core/device/captured_work.h"

#include "core/device/cuda_runtime.h"
#include "core/error.h"
#include "core/log.h"

namespace cortado {

namespace {

constexpr int kOrdinaryRuns = 2;

}  // namespace

CapturedWork::~CapturedWork() {
  if (graph_) cuda::destroy_graph(graph_);
}

void CapturedWork::run(Context& context, const std::function<void()>& work) {
  const bool records = !context.device.is_cpu() && context.captures && !refused_;
  if (!records || ordinary_runs_ < kOrdinaryRuns) {
    ++ordinary_runs_;
    return work();
  }
  if (!graph_ && recording_.empty() && !record(context, work)) return work();
  if (graph_) return cuda::launch_graph(context, graph_);
  recording_.replay(context);
}

bool CapturedWork::record(Context& context, const std::function<void()>& work) {
  if (context.device.is_cuda()) return record_graph(context, work);
  context.recording = &recording_;
  try {
    work();
  } catch (...) {
    context.recording = nullptr;
    recording_.clear();
    throw;
  }
  context.recording = nullptr;
  return true;
}

bool CapturedWork::record_graph(Context& context, const std::function<void()>& work) {
  try {
    cuda::begin_capture(context);
    work();
    graph_ = cuda::end_capture(context);
    return true;
  } catch (const Error& error) {
    cuda::abandon_capture(context);
    if (error.code() != ExitCode::kDevice) throw;
    log_warning() << "kernels are launched one by one, because recording a CUDA graph failed: "
                  << error.mistakes().front().message;
    return !(refused_ = true);
  } catch (...) {
    cuda::abandon_capture(context);
    throw;
  }
}

}  // namespace cortado
