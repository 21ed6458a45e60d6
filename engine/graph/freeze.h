#pragma once

// Finetuning: layers named by patterns (BuildOptions::freeze) learn nothing, as if each of their params said
// lr_mult: 0 and decay_mult: 0. A BatchNorm among them normalises by the running averages that its weights brought and
// leaves them alone (use_global_stats), as it will in testing; with a batch's own statistics its layer would go on to
// change though nothing in it learns.

#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace cortado::graph {

/// Whether one of the patterns matches the whole name: *, ? and [abc] as in a shell.
bool matches_any(const std::vector<std::string>& patterns, const std::string& name);

/// The net with use_global_stats: true in the BatchNorms that the patterns name; the same one where there are none.
std::shared_ptr<const NetFile> with_frozen_averages(std::shared_ptr<const NetFile> file,
                                                    const std::vector<std::string>& patterns);

/// The layers with weights that could be learned and are not, by their lr_mult, in the file's order.
std::vector<std::string> layers_that_keep(const Graph& graph);

/// Elements of weights that could be learned and are not; those shared count once.
int64_t count_frozen(const Graph& graph);

}  // namespace cortado::graph
