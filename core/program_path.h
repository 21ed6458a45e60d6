#pragma once

#include <string>

namespace cortado {

/// The file of this program, whatever link it was called by; "" where the system does not tell. What belongs to it lies
/// beside it.
std::string program_path();

}  // namespace cortado
