#pragma once

// Measured peak performance of this machine: the two sides of a roofline model.

namespace cortado {

/// Peak GFLOP/s of register-only fused multiply-adds on `threads` threads (one FMA is two operations). The maximum of a
/// few runs of about a millisecond each.
double fma_peak_gflops(int threads);

/// Memory bandwidth in GB/s of a = b + s c on `threads` threads, counting each of the three arrays once. The arrays
/// exceed every cache. The maximum of a few runs; takes about 0.1 s and 96 MB.
double memory_gbytes_per_second(int threads);

}  // namespace cortado
