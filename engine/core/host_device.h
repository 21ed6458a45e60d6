#pragma once

// The one host-device marker: functions that nvcc compiles for both sides and the C++ compiler for the host.
#ifdef __CUDACC__
#define CORTADO_HD __host__ __device__
#else
#define CORTADO_HD
#endif
