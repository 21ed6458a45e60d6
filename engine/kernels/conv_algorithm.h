#pragma once

#include <cstdint>

namespace cortado::kernels {

/// How a candidate for a convolution computes: what requests and users may rule out.
enum class ConvAlgorithm : uint8_t { kDirect, kWinograd, kAmx, kProducts };

}  // namespace cortado::kernels
