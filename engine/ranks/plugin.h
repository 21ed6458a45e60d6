#pragma once

// Libraries of this project's own that are loaded when they are wanted: each is linked to one that moves bytes.

#include <string>

#include "ranks/engine_plugin.h"

namespace cortado::ranks {

/// Whether libcortado_ENGINE.so is beside the program; the library that it wants may be missing all the same.
bool has_plugin(const std::string& engine);

/// `function` of libcortado_ENGINE.so. Its other symbols are for itself alone: the two MPIs have the same names, and
/// OpenCV may have brought one along. Throws Error(kUsage) with the packages to install where it cannot be loaded.
void* plugin_function(const std::string& engine, const char* function);

/// Writes what a call tells to `text`, which outlives it.
CortadoEngineText into(std::string& text);

}  // namespace cortado::ranks
