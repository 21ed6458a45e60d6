#pragma once

#include <string>

#include "core/error.h"

namespace cortado {

/// What is wrong with a file as a whole, or with one of its lines, whose text need not be shown.
Mistake file_mistake(const std::string& path, std::string message, std::string hint = {}, int line = 0);

/// The error of that mistake alone.
Error file_error(ExitCode code, const std::string& path, std::string message, std::string hint = {});

}  // namespace cortado
