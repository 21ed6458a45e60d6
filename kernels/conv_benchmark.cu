#include <algorithm>
#include <chrono>
#include <limits>

#include "core/error.h"
#include "core/for_each.h"
#include "core/half.h"
#include "core/log.h"
#include "kernels/conv_benchmark.h"
#include "kernels/cpu/evict.h"

namespace cortado::kernels {
namespace {

constexpr int kMaxRuns = 5;

/// Small numbers of both signs.
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

/// A kernel that was made and fails when it runs is never chosen.
double ConvBenchmark::time(ConvKernel& kernel, Context& context, double most, double rival) {
  try {
    return measured(kernel, context, most, rival);
  } catch (const Error& error) {
    if (!context.device.is_cuda()) throw;
    log_warning() << kernel.name() << " is not taken: " << error.mistakes().front().message;
    return std::numeric_limits<double>::infinity();
  }
}

double ConvBenchmark::measured(ConvKernel& kernel, Context& context, double most, double rival) const {
  const WeightFormat format = kernel.weight_format();
  const bool apart = request_.post.sum && kernel.sum_place() == SumPlace::kApart;
  const DeviceMemory w = filled(context, format.bytes(), format.dtype());
  const DeviceMemory bias = filled(context, request_.shape.k * int64_t(sizeof(float)), format.dtype());
  const DeviceMemory z = apart ? filled(context, request_.shape.y().bytes(), request_.shape.dtype) : DeviceMemory();
  const DeviceMemory scratch(context, size_t(kernel.scratch()));
  const ConvOperands io = operands(w.data(), request_.bias ? bias.data() : nullptr, apart ? z.data() : y_.data());
  synchronize(context);
  // A frozen net's weights are read once in a pass, after all others: they come from memory, and a spectrum of them,
  // which is larger, may cost more there than it saves.
  const bool cold = request_.frozen && context.device.is_cpu();
  double best = std::numeric_limits<double>::infinity(), spent = 0;
  for (int run = 0; run < 2 || (run < kMaxRuns && spent < most); ++run) {
    if (cold) evict(w.data(), size_t(format.bytes()));
    const auto start = std::chrono::steady_clock::now();
    kernel.run(context, io, scratch.data());
    synchronize(context);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    spent += seconds;
    if (run == 0 && seconds > kHopeless * rival) return seconds;
    if (run > 0) best = std::min(best, seconds);
  }
  return best;
}

ConvOperands ConvBenchmark::operands(void* w, void* bias, const void* z) const {
  switch (direction_) {
    case ConvDirection::kForward:
      return {.x = x_.data(), .w = w, .bias = bias, .z = z, .y = y_.data()};
    case ConvDirection::kBackwardData:
      return {.dy = y_.data(), .w = w, .dx = x_.data()};
    case ConvDirection::kBackwardWeights:
      return {.x = x_.data(), .dy = y_.data(), .d = {static_cast<float*>(w), static_cast<float*>(bias)}};
  }
  return {};
}

}  // namespace cortado::kernels
