#pragma once

// Marks functions that nvcc compiles for host and device, and the C++ compiler for the host.
#ifdef __CUDACC__
#define CORTADO_HD __host__ __device__
#else
#define CORTADO_HD
#endif
