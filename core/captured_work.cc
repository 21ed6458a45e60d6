#include "core/captured_work.h"

#include "core/cuda_runtime.h"

namespace cortado {

namespace {

constexpr int kOrdinaryRuns = 2;

}  // namespace

CapturedWork::~CapturedWork() {
  if (graph_) cuda::destroy_graph(graph_);
}

void CapturedWork::run(Context& context, const std::function<void()>& work) {
  if (!context.device.is_cuda() || !context.captures || ordinary_runs_ < kOrdinaryRuns) {
    ++ordinary_runs_;
    return work();
  }
  if (!graph_) {
    cuda::begin_capture(context);
    try {
      work();
    } catch (...) {
      cuda::abandon_capture(context);
      throw;
    }
    graph_ = cuda::end_capture(context);
  }
  cuda::launch_graph(context, graph_);
}

}  // namespace cortado
