#pragma once

#include <memory>
#include <string>

#include "graph/graph.h"
#include "proto/files/override.h"
#include "proto/files/read_text.h"
#include "tools/options/flags.h"

namespace cortado::tools {

/// Whether a prototxt is a solver and not a net, by the names of its outermost fields.
bool is_solver_file(const std::string& path);

/// Reads a solver. Throws Error as read_solver() does, and Error(kUsage) for a net.
SolverFile open_solver(const std::string& path);

/// Reads a net and applies `overrides`. Throws Error as these do. Throws Error(kUsage) for a solver, naming its net,
/// and for overrides of a solver.
std::shared_ptr<const NetFile> open_net(const std::string& path, const Overrides& overrides = {});

/// The net that --model names, with --set; --shape sets the extents that an ONNX model leaves open. Throws Error as
/// open_net() does, and Error(kUsage) for --shape with a prototxt.
std::shared_ptr<const NetFile> open_model(const Arguments& arguments);
/// The same as a draft: with the errors of the text that allow to read the rest.
std::shared_ptr<const NetFile> open_model_draft(const Arguments& arguments);

/// The net with `batch` as the first extent of the tops of Input, DummyData and data layers; 0 keeps it. Throws
/// Error(kUsage) if a layer in Python makes batches.
std::shared_ptr<const NetFile> with_batch(std::shared_ptr<const NetFile> file, int64_t batch);

/// The blobs that no layer reads, in alphabetical order.
std::vector<std::string> output_names(std::shared_ptr<const NetFile> file, const caffe::NetState& state);

/// The graph after shapes, shared weights and freezing. Every layer and blob of the file is in it by its own name.
graph::Graph graph_with_shapes(std::shared_ptr<const NetFile> file, const graph::BuildOptions& options);

/// Whether every value has a shape, so that a plan can be made.
bool all_shapes_known(const graph::Graph& graph);

/// Operations of one forward pass of a node, 1 MAC = 2; 0 if a shape is unknown.
int64_t flops_of(const graph::Graph& graph, const graph::Node& node);

/// Elements of the layers' weights, shared ones counted once. `learned`: of those that the solver updates, else of the
/// others, such as running means.
int64_t count_weights(const graph::Graph& graph, bool learned);

}  // namespace cortado::tools
