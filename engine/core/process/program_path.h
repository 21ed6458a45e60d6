#pragma once

#include <string>

namespace cortado {

/// The path of this program's file, with links resolved; "" if unknown.
std::string program_path();

/// The file that contains this code: the program, or a library loaded by another program.
std::string code_path();

/// The path of a companion program or library: in the same folder, or where an installation puts it (the parent folder,
/// or lib, lib/cortado or bin nearby); "" if not found.
std::string companion_path(const std::string& name);

}  // namespace cortado
