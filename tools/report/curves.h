#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/runs/metrics_file.h"

namespace cortado::tools {

/// What training and tests told, as curves: {"training":{"loss":[[iter,value],..],"rate":..,"img_s":..,"data_wait":..,
/// "memory":..},"outputs":{name:[..]},"tests":{name:[..]}}. Values that are no numbers are null. Of more than 4,000
/// points every so-manieth is kept, and the last.
nlohmann::ordered_json curves_of(const std::vector<runs::MetricRow>& rows);

/// layers.jsonl: {"weights":[{"name":..,"norms":[[iter,value],..],"gradients":[[iter,value],..],"latest":{"min":..,
/// "max":..,"bins":[..]},"first":..}]}. Lines that are torn are left out; what a run did again, the later one holds.
nlohmann::ordered_json layer_curves(const std::string& path);

}  // namespace cortado::tools
