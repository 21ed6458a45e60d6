#include "solvers/iteration_cost.h"

#include "core/device/recording.h"
#include "graph/plan.h"
#include "solvers/device_update.h"
#include "solvers/weight_update.h"

namespace cortado {

namespace {

/// What a context's device is told while this lives.
class Recorded {
 public:
  explicit Recorded(Context& context) : context_(context) {
    context.recording = &recording_;
    context.handle<Account>() = {};
  }
  ~Recorded() { context_.recording = nullptr; }
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;

  int64_t launches() const { return int64_t(recording_.size()) + account().stated; }
  bool is_told() const { return account().told == int64_t(recording_.size()); }
  const Traffic& traffic() const { return account().traffic; }

 private:
  const Account& account() const { return context_.handle<Account>(); }

  Context& context_;
  Recording recording_;
};

std::string name_of(graph::Call call) {
  switch (call) {
    case graph::Call::kForward:
      return "forward";
    case graph::Call::kBackward:
      return "backward";
    case graph::Call::kRecompute:
      return "recompute";
  }
  return "";
}

class Counter {
 public:
  explicit Counter(Net& net) : net_(net), plan_(net.plan()) {}

  void forward() {
    for (size_t i = 0; i < net_.forward_steps(); ++i) {
      const graph::Step& step = plan_.forward[i];
      if (!plan_.graph.node(step.node).layer->roles().needs_host) add(step, [&] { net_.run_forward_step(i); });
    }
  }
  void backward() {
    for (size_t i = 0; i < net_.backward_steps(); ++i) add(plan_.backward[i], [&] { net_.run_backward_step(i); });
  }
  void update(DeviceUpdate& update) {
    add({.call = "update"}, [&] {
      update.add_loss(net_.loss_word(), /*first=*/true);
      update.apply();
    });
  }

  IterationCost cost;

 private:
  template <typename Work>
  void add(const graph::Step& step, const Work& work) {
    const graph::Node& node = plan_.graph.node(step.node);
    add({.call = name_of(step.call), .type = node.type, .layer = node.name}, work, &step);
  }

  template <typename Work>
  void add(StepCost step, const Work& work, const graph::Step* planned = nullptr) {
    {
      const Recorded recorded(net_.context());
      work();
      step.launches = recorded.launches();
      step.traffic = recorded.traffic();
      step.by_operands = planned && !recorded.is_told();
    }
    if (step.by_operands) step.traffic = graph::operand_traffic(plan_, *planned);
    if (step.launches == 0) return;
    cost.launches += step.launches;
    cost.traffic += step.traffic;
    cost.steps.push_back(std::move(step));
  }

  Net& net_;
  const graph::Plan& plan_;
};

}  // namespace

IterationCost iteration_cost(const caffe::SolverParameter& config, Net& net) {
  const WeightUpdate weights(config, net);
  DeviceUpdate update(config, weights.rule(), net, weights.entries());
  net.scale_losses(update.loss_scale());
  net.stage();  // which brings weights into the form that kernels read
  Counter counter(net);
  counter.forward();
  counter.backward();
  counter.update(update);
  net.scale_losses(nullptr);
  return std::move(counter.cost);
}

}  // namespace cortado
