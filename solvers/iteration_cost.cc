#include "solvers/iteration_cost.h"

#include <chrono>

#include "core/device/recording.h"
#include "core/round_up.h"
#include "graph/plan.h"
#include "solvers/device_update.h"
#include "solvers/rank_share.h"
#include "solvers/weight_update.h"

namespace cortado {

namespace {

/// Records the work of a context's device during its lifetime.
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

using Clock = std::chrono::steady_clock;

constexpr int kWarmUps = 2, kPasses = 7;

double seconds_since(Clock::time_point then) { return std::chrono::duration<double>(Clock::now() - then).count(); }

/// Measures one pass.
class PassClock : private GradientReader {
 public:
  explicit PassClock(Net& net) : net_(net), completed_(net) {}

  PassTimes run() {
    times_.complete.clear();
    completed_.begin();
    const Clock::time_point begin = Clock::now();
    net_.forward();
    times_.forward = seconds_since(begin);
    backward_began_ = Clock::now();
    net_.backward(/*accumulate=*/false, this);
    times_.backward = seconds_since(backward_began_);
    return times_;
  }

 private:
  void on_complete(size_t param) override {
    completed_.on_complete(param, [&](size_t) { times_.complete.push_back(seconds_since(backward_began_)); });
  }

  Net& net_;
  CompleteParts completed_;
  PassTimes times_;
  Clock::time_point backward_began_;
};

template <typename Value>
double median_of(const std::vector<PassTimes>& runs, const Value& value) {
  std::vector<double> values;
  for (const PassTimes& run : runs) values.push_back(value(run));
  return median(values);
}

}  // namespace

IterationCost iteration_cost(const IterationPlan& plan, Net& net) {
  const WeightUpdate weights(plan, net);
  DeviceUpdate update(plan, net, weights.entries());
  net.scale_losses(update.loss_scale());
  net.stage();  // converts weights to the layout that kernels read
  Counter counter(net);
  counter.forward();
  counter.backward();
  counter.update(update);
  net.scale_losses(nullptr);
  return std::move(counter.cost);
}

PassTimes measure_passes(Net& net) {
  PassClock clock(net);
  std::vector<PassTimes> runs;
  for (int run = 0; run < kWarmUps + kPasses; ++run, ++net.context().pass) {
    const PassTimes times = clock.run();
    if (run >= kWarmUps) runs.push_back(times);
  }
  PassTimes medians;
  medians.forward = median_of(runs, [](const PassTimes& run) { return run.forward; });
  medians.backward = median_of(runs, [](const PassTimes& run) { return run.backward; });
  for (size_t part = 0; part < runs[0].complete.size(); ++part)
    medians.complete.push_back(median_of(runs, [&](const PassTimes& run) { return run.complete[part]; }));
  return medians;
}

}  // namespace cortado
