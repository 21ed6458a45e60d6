#include "net/predictor.h"

#include <algorithm>

#include "core/text/text.h"
#include "core/threads/threads.h"
#include "graph/passes/passes.h"
#include "layers/registry.h"
#include "net/inputs.h"
#include "proto/weights/onnx_file.h"

namespace cortado {

namespace {

/// Limits for idle nets (the owner of the weights included) and for distinct shapes among them. Beyond these the least
/// recently used are freed; prepare() raises the limits.
constexpr size_t kMaxIdle = 16, kMaxShapes = 8;

/// The first pass after which all shapes are known.
constexpr const char* kShapesKnown = "infer_shapes";

std::vector<graph::Pass> passes_after(const std::string& name) {
  const std::vector<graph::Pass>& all = graph::all_passes();
  const auto found = std::find_if(all.begin(), all.end(), [&](const graph::Pass& pass) { return pass.name == name; });
  return {std::next(found), all.end()};
}

std::string listed(const std::map<std::string, Shape>& blobs) {
  std::string out;
  for (const auto& [name, shape] : blobs) out += (out.empty() ? "'" : ", '") + name + "' " + shape.str();
  return out.empty() ? "none" : out;
}

std::vector<std::string> names_of(const std::map<std::string, Shape>& blobs) {
  std::vector<std::string> names;
  for (const auto& [name, shape] : blobs) names.push_back(name);
  return names;
}

/// The tops of Input layers that a layer reads or that are requested.
std::vector<std::string> inputs_read(const graph::Graph& graph) {
  std::vector<std::string> names;
  for (const graph::Node& node : graph.nodes)
    for (const graph::ValueId id : node.y)
      if (const graph::Value& value = graph.value(id);
          kind_of(node.type) == LayerKind::kInput && (value.kept || !value.readers.empty()))
        names.push_back(value.name);
  return names;
}

/// Called before any net is made, so that an invalid file is reported at once.
std::vector<NamedWeights> read_all(const std::vector<std::string>& paths) {
  std::vector<NamedWeights> read;
  for (const std::string& path : paths) read.push_back({path, read_weights(path)});
  return read;
}

}  // namespace

void check_input_shape(const std::string& what, const std::string& blob, const Shape& have, const Shape& wanted) {
  if (have.axes() == wanted.axes() && have.count() > 0) return;
  throw Error(ExitCode::kData, what + " has shape " + have.str() + ", but '" + blob + "' expects " + wanted.str(),
              have.axes() == wanted.axes() ? "pass at least one element"
                                           : "pass an array with the same number of axes; extents may differ");
}

/// What each concurrent request needs besides the weights.
struct Predictor::Worker {
  Worker(const Shapes& shapes, const ContextOptions& options) : shapes(shapes), context(options) {}

  Shapes shapes;
  Context context;
  std::unique_ptr<Net> net;
};

Predictor::Predictor(const std::string& model, const std::vector<std::string>& weights, PredictorOptions options)
    : Predictor(std::make_shared<const NetFile>(read_net(model)), weights, std::move(options)) {}

Predictor::Predictor(std::shared_ptr<const NetFile> model, const std::vector<std::string>& weights,
                     PredictorOptions options)
    : Predictor(TrainedModel{model, read_all(weights_or_own(weights, model->positions.file()))}, std::move(options)) {}

Predictor::Predictor(TrainedModel model, PredictorOptions options)
    : file_(std::move(model.net)), options_(std::move(options)), most_idle_(kMaxIdle), most_shapes_(kMaxShapes) {
  if (options_.context.threads == 0) options_.context.threads = default_threads();
  if (!options_.state.has_phase()) options_.state.set_phase(caffe::TEST);
  inputs_ = declared_inputs(*file_, options_.state);
  read_weight_shapes();
  load(model.weights);
  needed_ = inputs_read(owner_->net->plan().graph);
  outputs_ = options_.outputs;
  if (outputs_.empty())
    for (const NetOutput& output : owner_->net->outputs()) outputs_.push_back(output.name);
  idle_.push_back(owner_);
}

Predictor::~Predictor() = default;

void Predictor::load(const std::vector<NamedWeights>& weights) {
  Shapes shapes = inputs_;
  for (auto& [name, shape] : shapes)
    if (options_.batch > 0 && shape.axes() > 0) {
      std::vector<int64_t> dims = shape.dims();
      dims[0] = options_.batch;
      shape = Shape(dims);
    }
  for (const auto& [name, shape] : options_.shapes) shapes[name] = shape;
  owner_ = make_worker(shapes, options_.context.threads);
  if (weights.empty() && !owner_->net->plan().graph.weights.empty())
    throw Error(ExitCode::kUsage, "no weights are given, but the net needs some",
                "name a .caffemodel (--weights=FILE)");
  for (const NamedWeights& each : weights) owner_->net->load_weights(each.layers, each.name);
  owner_->net->require_weights();
}

Arrays Predictor::predict(const Arrays& inputs) {
  const std::shared_ptr<Worker> worker = take(shapes_of(inputs));
  const struct Lease {
    Predictor& pool;
    const std::shared_ptr<Worker>& worker;
    ~Lease() { pool.give_back(worker); }
  } lease{*this, worker};
  Net& net = *worker->net;
  enter(worker->context);
  for (const std::string& name : needed_) net.write_blob(name, inputs.at(name).values.data());
  net.forward();
  Arrays out;
  for (const std::string& name : outputs_) out[name] = {net.blob_shape(name), net.read_blob(name)};
  return out;
}

void Predictor::prepare(const std::map<std::string, Shape>& shapes, int count, int threads) {
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(prepared_, [&](const auto& known) { return known.first == shapes; });
    prepared_.emplace_back(shapes, threads > 0 ? threads : options_.context.threads);
    most_idle_ += size_t(count);
    most_shapes_ += 1;
  }
  std::vector<std::shared_ptr<Worker>> made;
  for (int i = 0; i < count; ++i) made.push_back(take(shapes));
  for (std::shared_ptr<Worker>& worker : made) give_back(std::move(worker));
}

Shape Predictor::output_shape(const std::string& output) const { return owner_->net->blob_shape(output); }

void Predictor::check_input(const std::string& name, const Shape& shape) const {
  const auto declared = inputs_.find(name);
  if (declared == inputs_.end()) {
    const std::string meant = did_you_mean(name, names_of(inputs_));
    throw Error(ExitCode::kUsage, "'" + name + "' is not an input of the net",
                meant.empty() ? "use one of its inputs: " + listed(inputs_) : meant);
  }
  check_input_shape("the array", name, shape, declared->second);
}

Predictor::Shapes Predictor::shapes_of(const Arrays& inputs) const {
  Shapes shapes = inputs_;
  for (const auto& [name, array] : inputs) {
    check_input(name, array.shape);
    if (int64_t(array.values.size()) != array.shape.count())
      throw Error(ExitCode::kData, "the array for '" + name + "' has " + std::to_string(array.values.size()) +
                                       " values, but its shape " + array.shape.str() + " has " +
                                       std::to_string(array.shape.count()));
    shapes[name] = array.shape;
  }
  for (const std::string& name : needed_)
    if (!inputs.contains(name))
      throw Error(ExitCode::kUsage, "input '" + name + "' is missing",
                  "pass all of the net's inputs: " + listed(inputs_));
  return shapes;
}

graph::BuildOptions Predictor::build_options() const {
  graph::BuildOptions build;
  build.state = options_.state;
  build.backward = false;
  build.frozen = true;
  build.keep = options_.outputs;
  build.only_kept = !build.keep.empty();
  return build;
}

/// If the net cannot be built with its declared shapes, the shapes of its weights are those of the weights file.
void Predictor::read_weight_shapes() {
  graph::BuildOptions build = build_options();
  build.open_data = false;
  graph::Graph graph = graph::build(with_inputs(file_, inputs_), build);
  try {
    graph::run_passes(graph, kShapesKnown);
  } catch (const Error&) {
    declared_fit_ = false;
    return;
  }
  for (const graph::SourceLayer& layer : graph.layers) {
    std::vector<Shape>& shapes = weight_shapes_.emplace_back();
    for (const graph::WeightId id : layer.weights) shapes.push_back(graph.weight(id).spec.shape);
  }
}

/// Errors for layers whose weights would need other shapes than the present ones.
std::vector<Diagnostic> Predictor::misfits_of(const graph::Graph& graph) const {
  std::vector<Diagnostic> mistakes;
  for (size_t i = 0; i < std::min(graph.layers.size(), weight_shapes_.size()); ++i) {
    const graph::SourceLayer& layer = graph.layers[i];
    const std::vector<Shape>& known = weight_shapes_[i];
    for (size_t k = 0; k < std::min(layer.weights.size(), known.size()); ++k) {
      const Shape& wanted = graph.weight(layer.weights[k]).spec.shape;
      if (wanted == known[k]) continue;
      mistakes.push_back({graph.place_of_layer(int(i)),
                          layer_text(layer.config->name(), layer.config->type()) + " has weights of shape " +
                              known[k].str() + ", but these inputs need " + wanted.str(),
                          "",
                          {}});
      break;
    }
  }
  return mistakes;
}

/// The graph for these inputs, after all passes. Throws Error(kData) where they are not the declared ones and a layer
/// rejects them or would need other weights for them.
graph::Graph Predictor::make_graph(const Shapes& shapes, const Context& context) const {
  graph::Graph graph;
  std::vector<Diagnostic> mistakes;
  try {
    graph = graph::build(with_inputs(file_, shapes), graph::options_for(build_options(), context));
    graph::run_passes(graph, kShapesKnown);
    mistakes = misfits_of(graph);
  } catch (const Error& error) {
    if (error.code() != ExitCode::kNet || !declared_fit_ || shapes == inputs_) throw;
    mistakes = error.mistakes();
  }
  if (!mistakes.empty()) throw_misfits(std::move(mistakes), shapes);
  graph::run_passes(graph, passes_after(kShapesKnown), {});
  return graph;
}

void Predictor::throw_misfits(std::vector<Diagnostic> mistakes, const Shapes& shapes) const {
  for (const auto& [name, shape] : shapes)
    if (const Shape& declared = inputs_.at(name); shape != declared)
      for (Diagnostic& mistake : mistakes)
        mistake.notes.push_back(
            {{}, "input '" + name + "' has shape " + shape.str() + ", but " + declared.str() + " in the net's file"});
  throw Error(ExitCode::kData, std::move(mistakes));
}

std::shared_ptr<Predictor::Worker> Predictor::make_worker(const Shapes& shapes, int threads) {
  ContextOptions options = options_.context;
  options.threads = threads;
  auto worker = std::make_shared<Worker>(shapes, options);
  Net* owner = owner_ ? owner_->net.get() : nullptr;
  graph::Plan plan =
      graph::make_plan(make_graph(shapes, worker->context), worker->context, owner ? &owner->plan() : nullptr);
  worker->net = std::make_unique<Net>(std::move(plan), worker->context, owner);
  return worker;
}

std::shared_ptr<Predictor::Worker> Predictor::take(const Shapes& shapes) {
  int threads = options_.context.threads;
  {
    const std::lock_guard lock(mutex_);
    threads = threads_for(shapes);
    const auto found = std::find_if(idle_.rbegin(), idle_.rend(), [&](const std::shared_ptr<Worker>& worker) {
      return worker->shapes == shapes && worker->context.threads == threads;
    });
    if (found != idle_.rend()) {
      std::shared_ptr<Worker> worker = *found;
      idle_.erase(std::next(found).base());
      return worker;
    }
  }
  return make_worker(shapes, threads);
}

int Predictor::threads_for(const Shapes& shapes) const {
  const auto found = std::ranges::find(prepared_, shapes, &std::pair<Shapes, int>::first);
  return found == prepared_.end() ? options_.context.threads : found->second;
}

void Predictor::give_back(std::shared_ptr<Worker> worker) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(worker));
  while (idle_.size() > most_idle_ || idle_shapes() > most_shapes_)
    idle_.erase(idle_[0] == owner_ ? idle_.begin() + 1 : idle_.begin());
}

size_t Predictor::idle_shapes() const {
  size_t count = 0;
  for (auto worker = idle_.begin(); worker != idle_.end(); ++worker)
    count += std::none_of(idle_.begin(), worker, [&](const auto& other) { return other->shapes == (*worker)->shapes; });
  return count;
}

}  // namespace cortado
