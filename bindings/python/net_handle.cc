#include "bindings/python/net_handle.h"

#include <set>

#include "core/device/device_memory.h"
#include "core/threads/threads.h"
#include "layers/common/data/python_object.h"
#include "net/fitting_layers.h"
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
  const std::vector<graph::WeightId> theirs = graph::weights_in(from.plan().graph, to.plan().graph);
  for (size_t i = 0; i < weights.size(); ++i) {
    const auto id = graph::WeightId(i);
    if (theirs[i] < 0 || !from.has_weight_gradient(theirs[i]) || !to.has_weight_gradient(id)) continue;
    std::vector<float> values(size_t(weights[i].spec.shape.count()));
    from.read_weight_gradient(theirs[i], values.data());
    to.write_weight_gradient(id, values.data());
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

/// Copies the state of passes, except weights, to `to`. Both nets are of the same file, or of its first layers.
void go_on(const ObservedNet& from, ObservedNet& to) {
  to.take_blobs(from);
  copy_gradients(from.net(), to.net());
  copy_python_objects(from.net(), to.net());
  for (const auto& [layer, position] : from.net().positions()) to.net().seek(layer, position);
}

/// The owner of a file net's weights: the first net made from it, or made when it began to share others.
class OwnWeights : public WeightHolder {
 public:
  OwnWeights(std::shared_ptr<Context> context, std::shared_ptr<WeightHolder> shared, std::shared_ptr<Net> net)
      : context_(std::move(context)), shared_(std::move(shared)), net_(std::move(net)) {}

  Net& net() override {
    enter(*context_);
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
    enter(net_.context());
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
  take(make(build_options(), nullptr));
  owner_ = std::make_shared<OwnWeights>(context_, nullptr, whole_.net);
}

graph::BuildOptions OwnNet::build_options() const {
  graph::BuildOptions options;
  options.state = state_;
  options.observed = true;
  options.accumulates = true;
  options.seed = context_->seed;
  return options;
}

OwnNet::Running OwnNet::make(const graph::BuildOptions& options, Net* weights_of) const {
  Running made{make_net(with_inputs(file_, shapes_), options, *context_, weights_of), nullptr};
  made.observed = std::make_unique<ObservedNet>(*made.net);
  return made;
}

/// Rethrows an error that is not about the shapes of a layer.
OwnNet::Running OwnNet::make_first_layers(const Error& misfit) const {
  Net& weights_of = owner_->net();
  graph::BuildOptions options = build_options();
  options.first_layers = fitting_layers(with_inputs(file_, shapes_), options, weights_of);
  if (options.first_layers == 0 || options.first_layers == whole_.observed->layers()) throw misfit;
  return make(options, &weights_of);
}

void OwnNet::copy_state_to(ObservedNet& made) const {
  for (const Running* ran : {&whole_, &first_layers_})
    if (ran->net) go_on(*ran->observed, made);
}

void OwnNet::take(Running whole) {
  copy_state_to(*whole.observed);
  whole_ = std::move(whole);
  first_layers_ = {};
}

ObservedNet& OwnNet::open() {
  enter(*context_);
  return *whole_.observed;
}

ObservedNet& OwnNet::open_for(const std::string& blob) {
  ObservedNet& whole = open();
  return first_layers_.net && first_layers_.observed->has_blob(blob) ? *first_layers_.observed : whole;
}

ObservedNet& OwnNet::open_up_to(size_t last) {
  ObservedNet& whole = open();
  if (!first_layers_.net) return whole;
  if (last >= first_layers_.net->plan().graph.options.first_layers) throw *misfit_;
  return *first_layers_.observed;
}

Net& OwnNet::gradients_of(const std::string& layer) {
  Net& whole = net();
  return first_layers_.net && first_layers_.net->plan().graph.source_named(layer) >= 0 ? *first_layers_.net : whole;
}

void OwnNet::clear_weight_gradients() {
  open().clear_weight_gradients();
  if (first_layers_.net) first_layers_.observed->clear_weight_gradients();
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
    take_shapes();
  } catch (const Error&) {
    shapes.swap(shapes_);
    throw;
  }
}

void OwnNet::take_shapes() {
  try {
    take(make(build_options(), &owner_->net()));
  } catch (const Error& misfit) {
    if (misfit.code() != ExitCode::kNet) throw;
    Running made = make_first_layers(misfit);
    copy_state_to(*made.observed);
    first_layers_ = std::move(made);
    misfit_ = misfit;
  }
}

void OwnNet::share(NetHandle& other) {
  std::shared_ptr<WeightHolder> theirs = other.lasting_weights();
  Net& weights_of = theirs->net();
  if (weights_of.context().device != context_->device)
    throw Error(ExitCode::kUsage, "nets can share weights only on the same device: this one is on " +
                                      context_->device.str() + ", the other on " + weights_of.context().device.str());
  open();
  Running made = make(build_options(), &weights_of);
  copy_own_weights(*whole_.net, *made.net, weights_of);
  take(std::move(made));
  owner_ = std::make_shared<OwnWeights>(context_, std::move(theirs), whole_.net);
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
