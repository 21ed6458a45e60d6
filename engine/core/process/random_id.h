#pragma once

#include <string>

namespace cortado {

/// 16 random hexadecimal digits: the identifier of a training.
std::string random_id();

}  // namespace cortado
