#include <algorithm>
#include <chrono>
#include <limits>

#include "core/half.h"
#include "core/loops/for_each.h"
#include "kernels/conv_benchmark.h"
#include "kernels/cpu/evict.h"

namespace cortado::kernels {
namespace {

constexpr int kMaxRuns = 5;

/// Small values of both signs.
template <typename T>
struct Fill {
  T* values;
  CORTADO_HD void operator()(int64_t i) const { values[i] = T(float(int(i * 7 % 31) - 15) / 64); }
};

DeviceMemory filled(Context& context, int64_t bytes, DType dtype) {
  DeviceMemory memory(context, size_t(bytes));
  with_float_type(dtype, [&](auto type) {
    using T = decltype(type);
    for_each(context, bytes / int64_t(sizeof(T)), Fill<T>{reinterpret_cast<T*>(memory.data())});
  });
  return memory;
}

}  // namespace

ConvBenchmark::ConvBenchmark(const ConvRequest& request, ConvDirection direction, Context& context)
    : request_(request),
      direction_(direction),
      x_(filled(context, request.shape.x().bytes(), request.shape.dtype)),
      y_(filled(context, request.shape.y().bytes(), request.shape.dtype)) {}

/// Operands of a kernel other than x and y.
struct ConvBenchmark::Memory {
  Memory(const ConvRequest& request, const ConvKernel& kernel, Context& context)
      : w(filled(context, kernel.weight_format().bytes(), kernel.weight_format().dtype())),
        scratch(context, size_t(kernel.scratch())) {
    if (request.bias) bias = filled(context, request.shape.k * int64_t(sizeof(float)), kernel.weight_format().dtype());
    if (request.post.sum && kernel.sum_place() == SumPlace::kApart)
      z = filled(context, request.shape.y().bytes(), request.shape.dtype);
    if (request.sums) sums = DeviceMemory(context, size_t(2 * request.shape.k) * sizeof(float));
    synchronize(context);
  }

  DeviceMemory w, scratch, bias, z, sums;
};

void ConvBenchmark::run(ConvKernel& kernel, Context& context) const {
  const Memory memory(request_, kernel, context);
  kernel.run(context, operands(memory), memory.scratch.data());
  synchronize(context);
}

double ConvBenchmark::time(ConvKernel& kernel, Context& context, double most, double rival) const {
  const Memory memory(request_, kernel, context);
  const ConvOperands io = operands(memory);
  // In a frozen net each pass reads the weights once, after all others, so they are not cached. A Winograd spectrum is
  // larger and may cost more memory traffic than it saves.
  const bool cold = request_.frozen && context.device.is_cpu();
  double best = std::numeric_limits<double>::infinity(), spent = 0;
  for (int run = 0; run < 2 || (run < kMaxRuns && spent < most); ++run) {
    if (cold) evict(memory.w.data(), memory.w.bytes());
    const auto start = std::chrono::steady_clock::now();
    kernel.run(context, io, memory.scratch.data());
    synchronize(context);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    spent += seconds;
    if (run == 0 && seconds > kHopeless * rival) return seconds;
    if (run > 0) best = std::min(best, seconds);
  }
  return best;
}

ConvOperands ConvBenchmark::operands(const Memory& memory) const {
  std::byte *w = memory.w.data(), *bias = memory.bias.data();
  switch (direction_) {
    case ConvDirection::kForward:
      return {.x = x_.data(),
              .w = w,
              .bias = bias,
              .z = memory.z.bytes() > 0 ? memory.z.data() : y_.data(),
              .y = y_.data(),
              .sums = reinterpret_cast<float*>(memory.sums.data())};
    case ConvDirection::kBackwardData:
      return {.dy = y_.data(), .w = w, .dx = x_.data()};
    case ConvDirection::kBackwardWeights:
      return {.x = x_.data(), .dy = y_.data(), .d = {reinterpret_cast<float*>(w), reinterpret_cast<float*>(bias)}};
  }
  return {};
}

}  // namespace cortado::kernels
