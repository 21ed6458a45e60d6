#pragma once

#include <string>

namespace cortado {

/// The file of this program, whatever link it was called by; "" where the system does not tell.
std::string program_path();

/// The file that this code is in: the program, or a library that somebody else's program has loaded.
std::string code_path();

/// The path of a program or library that belongs to this code and is started or loaded when it is wanted: beside it, or
/// where an installation puts it (above it, or in lib, lib/cortado or bin around its folder); "" where it is nowhere
/// there.
std::string companion_path(const std::string& name);

}  // namespace cortado
