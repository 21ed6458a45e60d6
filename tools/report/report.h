#pragma once

// report.html of a run: one page without external files.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/context.h"
#include "proto/files/read_text.h"
#include "tools/runs/metrics_file.h"

namespace cortado::tools {

/// The data of the page. With a `context`, the test set is run through the best or else newest weights, and a few
/// iterations of the training net are timed, skipping up to `skip_bad` bad records. Without a context these sections
/// are missing. Throws Error if the folder is not a run. Errors of single sections are in "notes".
nlohmann::ordered_json report_of(const std::string& run, Context* context, int64_t skip_bad = 0);

/// Writes RUN/report.html. Throws as report_of() does, and Error(kIo).
void write_report(const std::string& run, Context* context, int64_t skip_bad = 0);

/// The page of `report`.
std::string report_page(const nlohmann::ordered_json& report);

/// Values of training and tests as curves: {"training":{"loss":[[iter,value],..],"rate":..,"img_s":..,"data_wait":..,
/// "memory":..},"outputs":{name:[..]},"tests":{name:[..]}}. Values that are not finite are null. More than 4,000 points
/// are thinned out; the last one is kept.
nlohmann::ordered_json curves_of(const std::vector<runs::MetricRow>& rows);

/// layers.jsonl: {"weights":[{"name":..,"norms":[[iter,value],..],"gradients":[[iter,value],..],"latest":{"min":..,
/// "max":..,"bins":[..]},"first":..}]}. Skips incomplete lines. For a repeated iteration the later line counts.
nlohmann::ordered_json layer_curves(const std::string& path);

/// The results of a net on the whole batches of its test set, or on as many as run in a minute: json_of() of a test,
/// and {"weights":..,"records":..,"calibration":{"error":..,"bins":[{"confidence":..,"accuracy":..,"count":..}]},
/// "worst":[{"record":..,"truth":..,"guesses":[[name,probability],..],"image":..}],"best":[..]}. For a detector:
/// "detection":[{"class":..,"objects":..,"average_precision":..,"curve":[[recall,precision],..]}] and "images"
/// (DetectedImages). Null if the net is neither. `weights` is a file. Skips up to `skip_bad` bad records. Throws as
/// building and running the net do.
nlohmann::ordered_json test_results(std::shared_ptr<const NetFile> file, const std::string& weights, int64_t skip_bad,
                                    Context& context);

}  // namespace cortado::tools
