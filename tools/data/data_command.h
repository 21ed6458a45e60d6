#pragma once

// The subcommands of `cortado data`.

#include <nlohmann/json.hpp>

#include "data/pipeline/pipeline.h"
#include "tools/options/flags.h"

namespace cortado::tools {

/// The options of the data layer of --model in the state of --phase, --level and --stage, with --batch and
/// --data-threads; --layer selects one of several. Throws Error(kUsage) if there is none.
data::PipelineOptions pipeline_options_of(const Arguments& arguments);

/// A whole number where the label is one.
nlohmann::ordered_json label_json(data::Label label);

int run_data_bench(const Arguments& arguments);
int run_data_sheet(const Arguments& arguments);
int run_data_stats(const Arguments& arguments);
int run_data_verify(const Arguments& arguments);
int run_data_cat(const Arguments& arguments);
int run_data_merge(const Arguments& arguments);
int run_data_split(const Arguments& arguments);
int run_data_shuffle(const Arguments& arguments);
int run_data_export(const Arguments& arguments);

}  // namespace cortado::tools
