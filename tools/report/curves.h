#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/runs/metrics_file.h"

namespace cortado::tools {

/// Values of training and tests as curves: {"training":{"loss":[[iter,value],..],"rate":..,"img_s":..,"data_wait":..,
/// "memory":..},"outputs":{name:[..]},"tests":{name:[..]}}. img_s and data_wait are of the time since the previous
/// point. Values that are not finite are null. More than 4,000 points are thinned out; the last one is kept.
nlohmann::ordered_json curves_of(const std::vector<runs::MetricRow>& rows);

/// layers.jsonl: [{"name":..,"norms":[[iter,value],..],"gradients":[[iter,value],..],"latest":{"min":..,"max":..,
/// "bins":[..]},"first":..}]. Skips incomplete lines. For a repeated iteration the later line counts.
nlohmann::ordered_json layer_curves(const std::string& path);

}  // namespace cortado::tools
