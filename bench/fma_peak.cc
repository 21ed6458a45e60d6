// Chains of independent fused multiply-adds, as many as hide the latency of two units, in the widest vectors of this CPU.

#include "bench/fma_peak.h"

#include <chrono>

#include <immintrin.h>

namespace cortado::bench {

namespace {

constexpr int kChains = 12;
constexpr int kRounds = 200000;

#if defined(__AVX512F__)
using Vector = __m512;
constexpr int kLanes = 16;
Vector splat(float v) { return _mm512_set1_ps(v); }
Vector fma(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
float first(Vector v) { return _mm512_cvtss_f32(v); }
#elif defined(__FMA__)
using Vector = __m256;
constexpr int kLanes = 8;
Vector splat(float v) { return _mm256_set1_ps(v); }
Vector fma(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
float first(Vector v) { return _mm256_cvtss_f32(v); }
#else
using Vector = __m128;
constexpr int kLanes = 4;
Vector splat(float v) { return _mm_set1_ps(v); }
Vector fma(Vector a, Vector b, Vector c) { return _mm_add_ps(_mm_mul_ps(a, b), c); }
float first(Vector v) { return _mm_cvtss_f32(v); }
#endif

float run_chains() {
  Vector chain[kChains];
  for (int i = 0; i < kChains; ++i) chain[i] = splat(float(i));
  const Vector a = splat(0.999f), b = splat(0.001f);
  for (int round = 0; round < kRounds; ++round)
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) chain[i] = fma(chain[i], a, b);
  float sum = 0;
  for (const Vector& v : chain) sum += first(v);
  return sum;
}

}  // namespace

double fma_peak_gflops(int threads) {
  double best = 0;
  volatile float sink = 0;
  for (int run = 0; run < 8; ++run) {
    const auto start = std::chrono::steady_clock::now();
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int t = 0; t < threads; ++t) sink = run_chains();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const double flops = 2.0 * kLanes * kChains * double(kRounds) * threads;
    best = flops / seconds / 1e9 > best ? flops / seconds / 1e9 : best;
  }
  return best;
}

}  // namespace cortado::bench
