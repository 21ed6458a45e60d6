#include <algorithm>
#include <chrono>
#include <limits>

#include "core/for_each.h"
#include "core/half.h"
#include "kernels/conv_rehearsal.h"
#include "kernels/cpu/evict.h"

namespace cortado::kernels {
namespace {

constexpr int kMostRuns = 5;

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

float* floats(const DeviceMemory& memory) { return reinterpret_cast<float*>(memory.data()); }

}  // namespace

ConvRehearsal::ConvRehearsal(const ConvRequest& request, ConvDirection direction, Context& context)
    : request_(request),
      direction_(direction),
      x_(filled(context, request.shape.x().bytes(), request.shape.dtype)),
      y_(filled(context, request.shape.y().bytes(), request.shape.dtype)),
      bias_(filled(context, request.shape.k * int64_t(sizeof(float)), DType::kF32)) {}

double ConvRehearsal::time(ConvKernel& kernel, Context& context, double most) {
  const int64_t weight_bytes = kernel.weight_format().bytes();
  const DeviceMemory w = filled(context, weight_bytes, DType::kF32);
  const DeviceMemory scratch(context, size_t(kernel.scratch()));
  synchronize(context);
  // A frozen net's weights are read once in a pass, after all others: they come from memory, and a spectrum of them, which
  // is larger, may cost more there than it saves.
  const bool cold = request_.frozen && context.device.is_cpu();
  double best = std::numeric_limits<double>::infinity(), spent = 0;
  for (int run = 0; run < 2 || (run < kMostRuns && spent < most); ++run) {
    if (cold) evict(w.data(), size_t(weight_bytes));
    const auto start = std::chrono::steady_clock::now();
    kernel.run(context, operands(floats(w)), scratch.data());
    synchronize(context);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    spent += seconds;
    if (run > 0) best = std::min(best, seconds);
  }
  return best;
}

ConvOperands ConvRehearsal::operands(float* w) const {
  float* bias = request_.bias ? floats(bias_) : nullptr;
  switch (direction_) {
    case ConvDirection::kForward:
      return {.x = x_.data(), .w = w, .bias = bias, .y = y_.data()};
    case ConvDirection::kBackwardData:
      return {.dy = y_.data(), .w = w, .dx = x_.data()};
    case ConvDirection::kBackwardWeights:
      return {.x = x_.data(), .dy = y_.data(), .d = {w, bias}};
  }
  return {};
}

}  // namespace cortado::kernels
