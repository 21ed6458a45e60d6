#pragma once

#include <string>

namespace cortado {

/// The file of this program, whatever link it was called by; "" where the system does not tell. What belongs to it lies
/// beside it.
std::string program_path();

/// The path of a library that is loaded when it is wanted: beside the program, or in the folder lib beside the
/// program's own; "" where it is in neither.
std::string library_path(const std::string& name);

}  // namespace cortado
