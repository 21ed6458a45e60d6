#include "tools/options/net_file.h"

#include <stdlib.h>

#include <filesystem>
#include <set>

#include "core/files/file.h"
#include "graph/passes/passes.h"
#include "layers/registry.h"
#include "proto/text/lexer.h"
#include "proto/weights/file_kind.h"
#include "proto/weights/onnx_file.h"
#include "tools/options/flags.h"
#include "tools/options/run_options.h"

namespace cortado::tools {

namespace {

/// The number of outermost field names of `text` that the message has.
int known_names(std::string_view text, const google::protobuf::Descriptor& message) {
  Lexer lexer(text, [](Position, std::string) {});
  int depth = 0, known = 0;
  for (Token token = lexer.next(); token.kind != TokenKind::kEnd; token = lexer.next()) {
    if (token.is('{') || token.is('<'))
      ++depth;
    else if (token.is('}') || token.is('>'))
      --depth;
    else if (depth == 0 && token.kind == TokenKind::kName && message.FindFieldByName(std::string(token.text)))
      ++known;
  }
  return known;
}

/// How many more of the outermost fields are a solver's than a net's.
int more_names_of_solvers(std::string_view text) {
  return known_names(text, *caffe::SolverParameter::descriptor()) -
         known_names(text, *caffe::NetParameter::descriptor());
}

/// Throws Error(kUsage) for a folder, with the most likely file in it as the hint.
void refuse_folder(const std::string& path, const std::vector<std::string>& files) {
  if (!std::filesystem::is_directory(path)) return;
  for (const std::string& name : files)
    if (const std::string file = join_path(path, name); file_exists(file))
      throw usage_error(path + " is a folder", "use " + file);
  throw usage_error(path + " is a folder", "name a file");
}

}  // namespace

bool is_solver_file(const std::string& path) {
  if (kind_of_file(path) == FileKind::kWeights || is_onnx_file(path)) return false;
  return more_names_of_solvers(read_file(path, int64_t(1) << 24)) > 0;
}

SolverFile open_solver(const std::string& path) {
  refuse_folder(path, {"solver.prototxt"});
  const std::string text = read_prototxt(path);
  try {
    return read_solver_from_text(text, path);
  } catch (const Error&) {
    if (kind_of_content(text) == FileKind::kText && more_names_of_solvers(text) < 0)
      throw usage_error(path + " is a net, not a solver", "write a solver that names it: net: \"" + path + "\"");
    throw;
  }
}

namespace {

/// Errors of the text that allow to read the rest stay in the draft.
std::shared_ptr<const NetFile> open_draft(const std::string& path, const Overrides& overrides) {
  refuse_folder(path, {"net.prototxt", "train_val.prototxt", "deploy.prototxt"});
  if (is_solver_file(path)) {
    const SolverFile file = read_solver(path);
    const caffe::SolverParameter& solver = file.solver;
    const std::string net = solver.has_net() ? solver.net() : solver.train_net();
    throw usage_error(path + " is a solver, not a net", net.empty() ? "" : "use its net, " + net);
  }
  if (overrides.has("solver")) throw usage_error("--set solver...: " + path + " is a net, not a solver");
  NetFile draft = read_net_draft(path);
  overrides.apply(draft);
  return std::make_shared<const NetFile>(std::move(draft));
}

}  // namespace

std::shared_ptr<const NetFile> open_net(const std::string& path, const Overrides& overrides) {
  const auto file = open_draft(path, overrides);
  graph::refuse_draft(file);
  return file;
}

std::shared_ptr<const NetFile> open_model(const Arguments& arguments) {
  const auto file = open_model_draft(arguments);
  graph::refuse_draft(file);
  return file;
}

std::shared_ptr<const NetFile> open_model_draft(const Arguments& arguments) {
  const std::string path = arguments.text("model");
  if (arguments.knows("shape") && arguments.has("shape")) {
    if (!is_onnx_file(path))
      throw usage_error("--shape is for ONNX models, but " + path + " is none",
                        "the net's Input layers have its shapes");
    const std::vector<std::string> shapes = arguments.each("shape");
    shapes_from_text(shapes);  // reports errors in them
    std::string lines;
    for (const std::string& shape : shapes) lines += shape + "\n";
    ::setenv(kModelShapesVariable, lines.c_str(), 1);
  }
  return open_draft(path, overrides_of(arguments));
}

std::shared_ptr<const NetFile> with_batch(std::shared_ptr<const NetFile> file, int64_t batch) {
  if (batch == 0) return file;
  auto changed = std::make_shared<NetFile>(*file);
  for (caffe::LayerParameter& layer : *changed->net.mutable_layer()) {
    if (layer.has_python_param() && layer.bottom_size() == 0 && layer.top_size() > 0)
      throw usage_error("--batch cannot change the batch of layer '" + layer.name() + "' (Python)",
                        "set it in the layer's param_str");
    set_batch(layer, batch);
  }
  return changed;
}

std::vector<std::string> output_names(std::shared_ptr<const NetFile> file, const caffe::NetState& state) {
  graph::BuildOptions options;
  options.state = state;
  options.open_data = false;
  return graph::build(std::move(file), options).output_names();
}

graph::Graph graph_with_shapes(std::shared_ptr<const NetFile> file, const graph::BuildOptions& options) {
  graph::Graph graph = graph::build(std::move(file), options);
  graph::run_passes(graph, "freeze");
  return graph;
}

bool all_shapes_known(const graph::Graph& graph) {
  for (const graph::Value& value : graph.values)
    if (!value.shape_known) return false;
  return true;
}

int64_t flops_of(const graph::Graph& graph, const graph::Node& node) {
  std::vector<Shape> x, y;
  for (const graph::ValueId id : node.x) x.push_back(graph.value(id).shape);
  for (const graph::ValueId id : node.y) y.push_back(graph.value(id).shape);
  for (const std::vector<graph::ValueId>* ids : {&node.x, &node.y})
    for (const graph::ValueId id : *ids)
      if (!graph.value(id).shape_known) return 0;
  return node.layer->flops(x, y);
}

int64_t count_weights(const graph::Graph& graph, bool learned) {
  std::set<graph::WeightId> seen;
  int64_t sum = 0;
  for (const graph::SourceLayer& layer : graph.layers)
    for (const graph::WeightId id : layer.weights) {
      const graph::Weight& weight = graph.weight(id);
      if (weight.spec.learned == learned && seen.insert(id).second) sum += weight.spec.shape.count();
    }
  return sum;
}

}  // namespace cortado::tools
