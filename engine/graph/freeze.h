#pragma once

// Finetuning: layers named by patterns (BuildOptions::freeze) are not trained, as if each of their params had lr_mult:
// 0 and decay_mult: 0. A BatchNorm among them uses its stored running averages (use_global_stats) and does not update
// them: batch statistics would change its output although none of its weights learn.

#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace cortado::graph {

/// Whether one of the patterns matches the whole name: *, ? and [abc] as in a shell.
bool matches_any(const std::vector<std::string>& patterns, const std::string& name);

/// Makes a layer that normalises use its stored running averages, without updating them; leaves other layers unchanged.
void hold_statistics(caffe::LayerParameter& layer);

/// The net with use_global_stats: true in the BatchNorms that match the patterns; `file` itself where none does.
std::shared_ptr<const NetFile> with_frozen_averages(std::shared_ptr<const NetFile> file,
                                                    const std::vector<std::string>& patterns);

/// Layers with learnable weights, none of which learn because of lr_mult, in the file's order.
std::vector<std::string> layers_that_keep(const Graph& graph);

/// Number of elements of learnable weights that do not learn; shared ones count once.
int64_t count_frozen(const Graph& graph);

}  // namespace cortado::graph
