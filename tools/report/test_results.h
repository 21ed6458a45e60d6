#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/context.h"
#include "proto/files/read_text.h"

namespace cortado::tools {

/// What a net makes of the whole batches of its test set, or of as many as a minute allows: what json_of() gives of a
/// test, and {"weights":..,"records":..,"calibration":{"error":..,"bins":[{"confidence":..,"accuracy":..,
/// "count":..}]},"worst":[{"record":..,"truth":..,"guesses":[[name,probability],..],"image":..}],"best":[..]}; of a
/// net that detects "detection":[{"class":..,"objects":..,"average_precision":..,"curve":[[recall,precision],..]}] and
/// "images" (DetectedImages). Null where the net does neither. `weights` are a file; throws what building and running
/// the net throws.
nlohmann::ordered_json test_results(std::shared_ptr<const NetFile> file, const std::string& weights, Context& context);

}  // namespace cortado::tools
