#pragma once

// report.html of a run: one page, nothing from outside.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/context.h"
#include "proto/files/read_text.h"
#include "tools/runs/metrics_file.h"

namespace cortado::tools {

/// All that the page shows. With a `context` the test set is run through the weights that are kept as best, or the
/// newest ones, and a few iterations of the training net are timed, passing over `skip_bad` bad records of a dataset;
/// without one these sections are left out. Throws Error where the folder is no run's; why something could not be
/// computed stands in "notes".
nlohmann::ordered_json report_of(const std::string& run, Context* context, int64_t skip_bad = 0);

/// Writes RUN/report.html. Throws as report_of() does, and Error(kIo).
void write_report(const std::string& run, Context* context, int64_t skip_bad = 0);

/// The page that shows `report`.
std::string report_page(const nlohmann::ordered_json& report);

/// What training and tests told, as curves: {"training":{"loss":[[iter,value],..],"rate":..,"img_s":..,"data_wait":..,
/// "memory":..},"outputs":{name:[..]},"tests":{name:[..]}}. Values that are no numbers are null. Of more than 4,000
/// points every so-manieth is kept, and the last.
nlohmann::ordered_json curves_of(const std::vector<runs::MetricRow>& rows);

/// layers.jsonl: {"weights":[{"name":..,"norms":[[iter,value],..],"gradients":[[iter,value],..],"latest":{"min":..,
/// "max":..,"bins":[..]},"first":..}]}. Lines that are torn are left out; what a run did again, the later one holds.
nlohmann::ordered_json layer_curves(const std::string& path);

/// What a net makes of the whole batches of its test set, or of as many as a minute allows: what json_of() gives of a
/// test, and {"weights":..,"records":..,"calibration":{"error":..,"bins":[{"confidence":..,"accuracy":..,
/// "count":..}]},"worst":[{"record":..,"truth":..,"guesses":[[name,probability],..],"image":..}],"best":[..]}; of a
/// net that detects "detection":[{"class":..,"objects":..,"average_precision":..,"curve":[[recall,precision],..]}] and
/// "images" (DetectedImages). Null where the net does neither. `weights` are a file, `skip_bad` the bad
/// records that may be passed over; throws what building and running
/// the net throws.
nlohmann::ordered_json test_results(std::shared_ptr<const NetFile> file, const std::string& weights, int64_t skip_bad,
                                    Context& context);

}  // namespace cortado::tools
