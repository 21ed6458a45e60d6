// Arithmetic: enough independent multiply-add chains to hide the latency of two units, in the CPU's widest vectors,
// contracted to FMA if available (core/CMakeLists.txt). Memory: the STREAM triad, by the threads that touched the pages
// first.

#include "core/threads/machine_peak.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "core/arena.h"
#include "core/threads/threads.h"

namespace cortado {

namespace {

constexpr int kChains = 12;
constexpr int kRounds = 200000;

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif
using Vector [[gnu::vector_size(kLanes * sizeof(float))]] = float;

float run_chains() {
  Vector chain[kChains];
  for (int i = 0; i < kChains; ++i) chain[i] = Vector{} + float(i);
  const Vector a = Vector{} + 0.999f, b = Vector{} + 0.001f;
  for (int round = 0; round < kRounds; ++round)
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) chain[i] = chain[i] * a + b;
  float sum = 0;
  for (const Vector& v : chain) sum += v[0];
  return sum;
}

/// Keeps the compiler from removing the computation.
void keep(float value) { asm volatile("" : : "m"(value)); }

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

double fma_peak_gflops(int threads) {
  Context context(threads);
  double best = 0;
  for (int run = 0; run < 8; ++run) {
    const auto start = std::chrono::steady_clock::now();
    in_pieces(context, threads, [](int64_t, int) { keep(run_chains()); });
    const double flops = 2.0 * kLanes * kChains * double(kRounds) * threads;
    best = std::max(best, flops / seconds_since(start) / 1e9);
  }
  return best;
}

double memory_gbytes_per_second(int threads) {
  Context context(threads);
  constexpr int64_t kCount = int64_t(8) << 20;
  const Arena arena(size_t(3 * kCount) * sizeof(float));
  float* a = reinterpret_cast<float*>(arena.data());
  float *b = a + kCount, *c = b + kCount;
  double best = 0;
  for (int run = 0; run < 6; ++run) {  // the first run faults the pages in
    const auto start = std::chrono::steady_clock::now();
    parallel_ranges(context, kCount, 1, [&](int64_t begin, int64_t end) {
      if (run == 0) std::fill(b + begin, b + end, 1.0f), std::fill(c + begin, c + end, 1.0f);
      for (int64_t i = begin; i < end; ++i) a[i] = b[i] + 0.5f * c[i];
    });
    best = std::max(best, 3.0 * kCount * sizeof(float) / seconds_since(start) / 1e9);
  }
  return best;
}

}  // namespace cortado
