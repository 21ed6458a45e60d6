#pragma once

// What this machine can do at best, measured: the two sides of a roofline.

namespace cortado {

/// What fused multiply-adds on registers alone reach with so many threads, in GFLOP/s (one FMA is two), as the best of
/// a few runs of about a millisecond each.
double fma_peak_gflops(int threads);

/// What a = b + s c over arrays larger than any cache moves with so many threads, in GB/s: the three arrays once each,
/// as the best of a few runs. Takes about a tenth of a second and 96 MB.
double memory_gbytes_per_second(int threads);

}  // namespace cortado
