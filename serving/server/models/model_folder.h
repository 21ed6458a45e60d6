#pragma once

// A folder of models: FOLDER/NAME/VERSION has deploy.prototxt and one file of weights. Names that requests bring are
// compared with those found here and never become paths.

#include <string>
#include <vector>

#include "tools/options/flags.h"

namespace cortado::server {

/// Whether a model may be called so: letters, digits, '.', '_' and '-', not '.' at its begin, at most 128.
bool is_model_name(const std::string& name);

/// The models in the folder, in alphabetical order; those with other names are left out. Throws Error(kIo).
std::vector<std::string> models_in(const std::string& folder);

/// The greatest number that a folder in the model's folder is called by; "" where there is none.
std::string newest_version(const std::string& model_folder);

/// The flags of `cortado serve` for the model in `version_folder`: `given` without what names a model, and its files.
/// Throws Error(kIo) where it has no deploy.prototxt, or several files of weights.
tools::Arguments arguments_for(const tools::Arguments& given, const std::string& version_folder);

}  // namespace cortado::server
