#pragma once

#include <cstdint>

namespace cortado::kernels {

/// The algorithm of a convolution candidate. Requests and users can exclude algorithms.
enum class ConvAlgorithm : uint8_t { kDirect, kWinograd, kAmx, kProducts };

}  // namespace cortado::kernels
