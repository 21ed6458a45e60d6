#pragma once

#include <string>

namespace cortado {

/// 16 hexadecimal digits from the system's random numbers: what tells one training from all others.
std::string random_id();

}  // namespace cortado
