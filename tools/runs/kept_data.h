#pragma once

// What a run keeps of its data, so that what it trained works wherever the data is: the names of classes, and the
// shapes of inputs.

#include <map>
#include <string>
#include <vector>

#include "core/shape.h"
#include "graph/graph.h"
#include "tools/runs/run_folder.h"
#include "tools/runs/run_record.h"

namespace cortado::runs {

/// The shapes of what a net's layers without bottoms make, with one row, by blob.
std::map<std::string, std::vector<int64_t>> input_shapes(const graph::Graph& graph);

/// Those in the record of the run in the folder of `model` (RUN/net.prototxt); none without such a run.
std::map<std::string, Shape> kept_shapes(const std::string& model);

/// Copies the names of the first of the datasets that has some: labels.txt, and labelmap.prototxt of objects. Warns of
/// files that cannot be read; throws Error(kIo) if a copy cannot be written.
void keep_names(const RunPaths& paths, const std::vector<InputFile>& inputs);

/// The copy of `part` (data::kLabelsPart, data::kLabelMapPart) in the run that trained a net: of the folder of `model`
/// (RUN/net.prototxt), else of `weights` (RUN/snapshots/NAME.caffemodel). "": neither has one.
std::string kept_names(const std::string& model, const std::vector<std::string>& weights, const char* part);

}  // namespace cortado::runs
