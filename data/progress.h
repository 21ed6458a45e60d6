#pragma once

#include <cstdint>
#include <functional>

namespace cortado::data {

/// Called occasionally with the number of processed items and the total (-1: unknown).
using Progress = std::function<void(int64_t done, int64_t total)>;

}  // namespace cortado::data
