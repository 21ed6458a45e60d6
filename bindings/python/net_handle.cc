#include "bindings/python/net_handle.h"

#include <set>

#include "core/device/device_memory.h"
#include "core/threads/threads.h"
#include "layers/common/data/python_object.h"
#include "net/inputs.h"

namespace cortado::pymodule {

namespace {

void copy_weight(const Net& from, Net& to, graph::WeightId id) {
  std::vector<float> values(size_t(from.plan().graph.weight(id).spec.shape.count()));
  from.read_weight(id, values.data());
  to.write_weight(id, values.data());
}

/// Copies the weights of `from` that `to`, a net of the same file, shares neither with it nor with `shared`.
void copy_own_weights(const Net& from, Net& to, const Net& shared) {
  std::set<const void*> places;
  const auto ids = [](const Net& net) { return graph::WeightId(net.plan().graph.weights.size()); };
  for (graph::WeightId id = 0; id < ids(shared); ++id) places.insert(shared.weight_place(id));
  for (graph::WeightId id = 0; id < ids(from); ++id)
    if (!places.contains(to.weight_place(id))) copy_weight(from, to, id);
}

void copy_gradients(const Net& from, Net& to) {
  const std::vector<graph::Weight>& weights = to.plan().graph.weights;
  for (size_t i = 0; i < weights.size(); ++i) {
    const auto id = graph::WeightId(i);
    if (!from.has_weight_gradient(id) || !to.has_weight_gradient(id)) continue;
    std::vector<float> values(size_t(weights[i].spec.shape.count()));
    from.read_weight_gradient(id, values.data());
    to.write_weight_gradient(id, values.data());
  }
}

void copy_inputs(const ObservedNet& from, ObservedNet& to) {
  for (const std::string& name : to.net().input_names()) {
    const Shape shape = to.net().blob_shape(name);
    if (from.net().blob_shape(name) != shape) continue;
    std::vector<float> values(size_t(shape.count()));
    from.read(name, BlobPart::kValues, values.data());
    to.write(name, BlobPart::kValues, values.data());
  }
}

void copy_python_objects(const Net& from, Net& to) {
  const auto object_of = [](const graph::Node& node) {
    auto* layer = node.layer->roles().python;
    return layer ? layer->object() : nullptr;
  };
  for (const graph::Node& node : to.plan().graph.nodes)
    for (const graph::Node& before : from.plan().graph.nodes)
      if (PythonObject* made = object_of(node), *used = object_of(before); made && used && node.name == before.name)
        made->adopt(*used);
}

/// Copies the state of passes, except weights, to `to`, a net of the same file.
void go_on(const ObservedNet& from, ObservedNet& to) {
  copy_inputs(from, to);
  copy_gradients(from.net(), to.net());
  copy_python_objects(from.net(), to.net());
  for (const auto& [layer, position] : from.net().positions()) to.net().seek(layer, position);
}

void enter_here(const Context& context) {
  use_threads(context.threads);
  enter(context);
}

/// The owner of a file net's weights: the first net made from it, or made when it began to share others.
class OwnWeights : public WeightHolder {
 public:
  OwnWeights(std::shared_ptr<Context> context, std::shared_ptr<WeightHolder> shared, std::shared_ptr<Net> net)
      : context_(std::move(context)), shared_(std::move(shared)), net_(std::move(net)) {}

  Net& net() override {
    enter_here(*context_);
    return *net_;
  }

 private:
  std::shared_ptr<Context> context_;
  std::shared_ptr<WeightHolder> shared_;  ///< the owner of weights shared from another net
  std::shared_ptr<Net> net_;
};

/// The owner of a solver's weights: valid while the training is open or the solver is referenced.
class SolverWeights : public WeightHolder {
 public:
  enum class Solver { kSeen, kKept };

  SolverWeights(std::shared_ptr<Training> training, size_t index, Solver solver)
      : training_(std::move(training)), seen_(training_->shared_solver()), net_(training_->net(index)) {
    if (solver == Solver::kKept) kept_ = seen_.lock();
  }

  Net& net() override {
    if (seen_.expired()) training_->solver();  // throws that it is closed
    enter_here(net_.context());
    return net_;
  }

 private:
  std::shared_ptr<Training> training_;  ///< owns the context
  std::weak_ptr<cortado::Solver> seen_;
  std::shared_ptr<cortado::Solver> kept_;
  Net& net_;
};

}  // namespace

OwnNet::OwnNet(NetFile file, const NetOptions& options)
    : file_(std::make_shared<const NetFile>(std::move(file))),
      state_(options.state),
      context_(
          std::make_shared<Context>(ContextOptions{.threads = options.threads > 0 ? options.threads : default_threads(),
                                                   .seed = options.seed,
                                                   .device = options.device})),
      shapes_(declared_inputs(*file_, state_)) {
  use_threads(context_->threads);
  take(make(nullptr));
  owner_ = std::make_shared<OwnWeights>(context_, nullptr, net_);
}

std::shared_ptr<Net> OwnNet::make(Net* weights_of) {
  graph::BuildOptions options;
  options.state = state_;
  options.observed = true;
  options.accumulates = true;
  options.seed = context_->seed;
  return make_net(with_inputs(file_, shapes_), options, *context_, weights_of);
}

void OwnNet::take(std::shared_ptr<Net> made) {
  auto observed = std::make_unique<ObservedNet>(*made);
  if (observed_) go_on(*observed_, *observed);
  observed_ = std::move(observed);
  net_ = std::move(made);
}

ObservedNet& OwnNet::open() {
  enter_here(*context_);
  return *observed_;
}

void OwnNet::reshape(const std::map<std::string, Shape>& inputs) {
  open();
  std::map<std::string, Shape> shapes = shapes_;
  for (const auto& [name, shape] : inputs) {
    if (!shapes.contains(name))
      throw Error(ExitCode::kUsage, "'" + name + "' is not an input of the net: its shape follows from other blobs");
    shapes[name] = shape;
  }
  shapes.swap(shapes_);
  try {
    take(make(&owner_->net()));
  } catch (const Error&) {
    shapes.swap(shapes_);
    throw;
  }
}

void OwnNet::share(NetHandle& other) {
  std::shared_ptr<WeightHolder> theirs = other.lasting_weights();
  Net& weights_of = theirs->net();
  if (weights_of.context().device != context_->device)
    throw Error(ExitCode::kUsage, "nets can share weights only on the same device: this one is on " +
                                      context_->device.str() + ", the other on " + weights_of.context().device.str());
  open();
  const std::shared_ptr<Net> made = make(&weights_of);
  copy_own_weights(*net_, *made, weights_of);
  take(made);
  owner_ = std::make_shared<OwnWeights>(context_, std::move(theirs), made);
}

std::shared_ptr<WeightHolder> SolverNet::weights() {
  return std::make_shared<SolverWeights>(training_, index_, SolverWeights::Solver::kSeen);
}

std::shared_ptr<WeightHolder> SolverNet::lasting_weights() {
  return std::make_shared<SolverWeights>(training_, index_, SolverWeights::Solver::kKept);
}

void SolverNet::reshape(const std::map<std::string, Shape>&) {
  throw Error(ExitCode::kUsage, "the nets of a solver have fixed shapes", "set the shapes in the net's file");
}

}  // namespace cortado::pymodule
