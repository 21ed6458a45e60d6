#pragma once

// A folder of models: FOLDER/NAME/VERSION has deploy.prototxt and one file of weights. Names from requests are compared
// with these names and never used as paths.

#include <string>
#include <vector>

#include "tools/options/flags.h"

namespace cortado::server {

/// Whether it is a valid name: letters, digits, '.', '_' and '-', no leading '.', at most 128 characters.
bool is_model_name(const std::string& name);

/// The models in the folder, in alphabetical order; invalid names are skipped. Throws Error(kIo).
std::vector<std::string> models_in(const std::string& folder);

/// The greatest number among the names of the version folders, or "".
std::string newest_version(const std::string& model_folder);

/// The flags of `cortado serve` for the model in `version_folder`: those of `given` that do not name a model, and its
/// files. Throws Error(kIo) if it has no deploy.prototxt, or several files of weights.
tools::Arguments arguments_for(const tools::Arguments& given, const std::string& version_folder);

}  // namespace cortado::server
