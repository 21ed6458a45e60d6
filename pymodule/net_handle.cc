#include "pymodule/net_handle.h"

#include "core/device_memory.h"
#include "core/threads.h"
#include "net/inputs.h"

namespace cortado::pymodule {

namespace {

/// What `to`, of the same file, does not share with `from` anyway.
void copy_state(Net& from, Net& to) {
  const std::vector<graph::Weight>& weights = to.plan().graph.weights;
  for (size_t id = 0; id < weights.size(); ++id) {
    std::vector<float> values(size_t(weights[id].spec.shape.count()));
    from.read_weight(graph::WeightId(id), values.data());
    to.write_weight(graph::WeightId(id), values.data());
  }
  for (const auto& [layer, position] : from.positions()) to.seek(layer, position);
}

}  // namespace

OwnNet::OwnNet(NetFile file, const NetOptions& options)
    : file_(std::make_shared<const NetFile>(std::move(file))),
      state_(options.state),
      context_(options.threads > 0 ? options.threads : default_threads(), options.seed),
      shapes_(declared_inputs(*file_, state_)) {
  use_threads(context_.threads);
  use_device(context_, options.device);
  owner_ = make(nullptr);
  take(owner_);
}

std::shared_ptr<Net> OwnNet::make(Net* weights_of) {
  graph::BuildOptions options;
  options.state = state_;
  options.observed = true;
  options.accumulates = true;
  options.seed = context_.seed;
  return make_net(with_inputs(file_, shapes_), options, context_, weights_of);
}

void OwnNet::take(std::shared_ptr<Net> made) {
  observed_ = std::make_unique<ObservedNet>(*made);
  net_ = std::move(made);
  net_->add_gradients(true);
}

ObservedNet& OwnNet::open() {
  use_threads(context_.threads);
  enter(context_);
  return *observed_;
}

void OwnNet::reshape(const std::map<std::string, Shape>& inputs) {
  open();
  std::map<std::string, Shape> shapes = shapes_;
  for (const auto& [name, shape] : inputs) {
    if (!shapes.contains(name))
      throw Error(ExitCode::kUsage, "'" + name + "' is no input of the net: its shape follows from other blobs'");
    shapes[name] = shape;
  }
  shapes.swap(shapes_);
  try {
    const std::shared_ptr<Net> made = make(owner_.get());
    copy_state(*net_, *made);
    take(made);
  } catch (const Error&) {
    shapes.swap(shapes_);
    throw;
  }
}

void OwnNet::share(const std::shared_ptr<OwnNet>& other) {
  for (const OwnNet* each = other.get(); each; each = each->shared_.get())
    if (each == this) throw Error(ExitCode::kUsage, "a net cannot share its own weights");
  open();
  const std::shared_ptr<Net> made = make(other->owner_.get());
  for (const auto& [layer, position] : net_->positions()) made->seek(layer, position);
  take(made);
  owner_ = other->owner_;
  shared_ = other;
}

void SolverNet::reshape(const std::map<std::string, Shape>&) {
  throw Error(ExitCode::kUsage, "the nets of a solver keep their shapes", "set them in the net's file");
}

}  // namespace cortado::pymodule
