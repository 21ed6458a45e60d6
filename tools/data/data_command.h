#pragma once

// What the actions of `cortado data` share.

#include "data/pipeline/pipeline.h"
#include "tools/options/flags.h"

namespace cortado::tools {

/// The options of the layer of records that --phase, --level and --stage leave in the net (--layer names one of
/// several), with --batch and --data-threads. The net is the second operand. Throws Error(kUsage) when there is no such
/// layer.
data::PipelineOptions pipeline_options_of(const Arguments& arguments);

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
