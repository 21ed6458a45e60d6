#pragma once

#include <cstdint>
#include <functional>

namespace cortado::data {

/// Called now and then with what is done and what there is in all (-1: not known).
using Progress = std::function<void(int64_t done, int64_t total)>;

}  // namespace cortado::data
