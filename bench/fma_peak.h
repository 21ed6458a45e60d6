#pragma once

namespace cortado::bench {

/// What fused multiply-adds on registers alone reach with so many threads, in GFLOP/s (one FMA is two), as the best of a few
/// runs of about a millisecond each.
double fma_peak_gflops(int threads);

}  // namespace cortado::bench
