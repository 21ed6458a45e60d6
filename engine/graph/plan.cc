// Makes a plan of a graph whose layouts are chosen. Time is counted in steps (graph/recompute.h). A buffer is one piece
// of memory; values and gradients share a buffer where layers allow that. A recomputed value has two buffers: one for
// its readers in forward, and one in backward, from its recomputation to its last reader.

#include "graph/plan.h"

#include <algorithm>
#include <limits>

#include "graph/place_memory.h"
#include "graph/recompute.h"
#include "graph/verify/verify.h"

namespace cortado::graph {

namespace {

constexpr int kForever = std::numeric_limits<int>::max();
constexpr int kNone = -1;

class Planner {
 public:
  /// `plan`: the graph, with prepared layers. `alignment`: of every buffer.
  Planner(Plan plan, int64_t alignment)
      : plan_(std::move(plan)),
        alignment_(alignment),
        nodes_(int(graph_().nodes.size())),
        time_(nodes_, graph_().options.recompute) {
    of_value_.assign(graph_().values.size(), kNone);
    of_gradient_.assign(graph_().values.size(), kNone);
    of_rebuilt_.assign(graph_().values.size(), kNone);
    of_dw_.assign(graph_().weights.size(), kNone);
    last_writer_.assign(graph_().weights.size(), kNone);
    rebuilt_.assign(graph_().values.size(), false);
    recomputes_.resize(graph_().nodes.size());
  }

  Plan run() {
    for (int n = 0; n < nodes_; ++n)
      if (plan_.needs[size_t(n)].last_saved_for_y && y_is_kept(n)) read_y(plan_.needs[size_t(n)]);
    if (graph_().options.recompute) take_recomputes();
    for (int n = 0; n < nodes_; ++n) place_forward(n);
    seed_losses();
    if (observed()) open_gradients();
    for (int n = nodes_ - 1; n >= 0; --n)
      if (node(n).runs_backward) place_backward(n);
    for (size_t id = 0; id < last_writer_.size(); ++id)
      if (last_writer_[id] != kNone) plan_.backward[size_t(last_writer_[id])].complete.push_back(WeightId(id));
    assign_offsets();
    return std::move(plan_);
  }

 private:
  /// One piece of memory and its lifetime. It may hold several values in turn, or one value under several names.
  struct Buffer {
    int64_t bytes = 0;
    int first = 0, last = 0;
    bool pinned = false;  ///< read from outside: must not be overwritten
  };

  /// A step's operands as buffers, converted to offsets at the end.
  struct StepBuffers {
    std::vector<int> x, y, dx, dy, saved;
    int more_dy = kNone, scratch = kNone, copy_dy_from = kNone;
  };

  Graph& graph_() { return plan_.graph; }
  Node& node(int n) { return plan_.graph.node(n); }
  Value& value(ValueId id) { return plan_.graph.value(id); }

  // Buffers

  bool observed() { return graph_().options.observed; }

  int new_buffer(int64_t bytes, int first, int last) {
    buffers_.push_back({bytes, first, std::max(first, last), false});
    return int(buffers_.size()) - 1;
  }

  /// A buffer that an observer may read: in an observed net it is never shared.
  int new_lasting(int64_t bytes, int first, int last) {
    if (!observed()) return new_buffer(bytes, first, last);
    const int buffer = new_buffer(bytes, 0, kForever);
    buffers_[size_t(buffer)].pinned = true;
    return buffer;
  }

  void join(int buffer, int last, bool pinned = false) {
    buffers_[size_t(buffer)].last = std::max(buffers_[size_t(buffer)].last, last);
    buffers_[size_t(buffer)].pinned = buffers_[size_t(buffer)].pinned || pinned;
  }

  /// The last step that reads a value; for a recomputed value, its last reader in forward.
  int last_read(ValueId id) {
    const Value& v = value(id);
    if (v.kept || observed()) return kForever;
    int last = v.producer;
    for (const Reader& reader : v.readers) last = std::max(last, reader.node);
    if (rebuilt_[size_t(id)]) return last;
    for (const Reader& reader : v.readers)
      if (reads_in_backward(plan_, reader)) last = std::max(last, time_.backward(reader.node));
    return maker_reads_in_backward(plan_, v) ? std::max(last, time_.backward(v.producer)) : last;
  }

  bool free_after(int buffer, int time, int64_t bytes) {
    const Buffer& b = buffers_[size_t(buffer)];
    return !b.pinned && b.last <= time && b.bytes == bytes;
  }

  /// A layer that overwrites an x may not have read another one in the same memory yet.
  bool is_only_x_in(const Node& node, int buffer) {
    return std::count_if(node.x.begin(), node.x.end(), [&](ValueId id) { return of_value_[size_t(id)] == buffer; }) ==
           1;
  }

  void place_forward(int n) {
    Node& node = this->node(n);
    const LayerNeeds& needs = plan_.needs[size_t(n)];
    StepBuffers step;
    for (const ValueId id : node.x) step.x.push_back(of_value_[size_t(id)]);
    for (size_t i = 0; i < node.y.size(); ++i) {
      step.y.push_back(place_value(n, i, needs));
      of_value_[size_t(node.y[i])] = step.y.back();
    }
    for (const int64_t bytes : needs.saved)
      step.saved.push_back(bytes > 0 ? new_lasting(bytes, n, node.runs_backward ? time_.backward(n) : n) : kNone);
    if (needs.forward_scratch > 0) step.scratch = new_buffer(needs.forward_scratch, n, n);
    steps_.push_back(step);
    // A view does nothing, unless its shape is computed in every pass.
    if (!needs.aliasing.view || node.layer->roles().needs_host) plan_.forward.push_back({.node = n});
  }

  int place_value(int n, size_t i, const LayerNeeds& needs) {
    const ValueId id = node(n).y[i];
    const int64_t bytes = value(id).spec().bytes();
    const int last = last_read(id);
    if (!node(n).x.empty()) {
      const int of_x = of_value_[size_t(node(n).x[needs.aliasing.overwritten_x])];
      const bool takes =
          i == 0 && needs.aliasing.y_may_overwrite_x && free_after(of_x, n, bytes) && is_only_x_in(node(n), of_x);
      if (needs.aliasing.y_is_in_x(i) || takes) {
        join(of_x, last, value(id).kept || observed());
        return of_x;
      }
    }
    const int buffer = needs.aliasing.y_persists ? new_buffer(bytes, 0, kForever) : new_lasting(bytes, n, last);
    if (value(id).kept || needs.aliasing.y_persists) buffers_[size_t(buffer)].pinned = true;
    return buffer;
  }

  // Results that stay in memory anyway and replace a saved mask

  bool y_is_kept(int n) {
    for (const ValueId id : same_memory(plan_, node(n).y[0])) {
      if (value(id).kept) return true;
      for (const Reader& reader : value(id).readers)
        if (reads_in_backward(plan_, reader)) return true;
    }
    return false;
  }

  static void read_y(LayerNeeds& needs) {
    needs.backward_reads_y = {true};
    needs.saved.back() = 0;
  }

  // Values recomputed in backward

  void take_recomputes() {
    recomputes_ = choose_recomputes(plan_, time_);
    for (int n = 0; n < nodes_; ++n)
      if (recomputes_[size_t(n)].target >= 0)
        for (const ValueId id : same_memory(plan_, node(n).y[0])) rebuilt_[size_t(id)] = true;
  }

  void place_recompute(int n) {
    const Node& node = this->node(n);
    const LayerNeeds& needs = plan_.needs[size_t(n)];
    const int time = time_.recompute(n, recomputes_[size_t(n)].target);
    StepBuffers step = steps_[size_t(n)];
    for (size_t i = 0; i < node.x.size(); ++i) step.x[i] = in_backward(node.x[i]);
    step.y = {new_buffer(value(node.y[0]).spec().bytes(), time, recomputes_[size_t(n)].last)};
    step.scratch = needs.recompute_scratch > 0 ? new_buffer(needs.recompute_scratch, time, time) : kNone;
    for (const ValueId id : same_memory(plan_, node.y[0])) of_rebuilt_[size_t(id)] = step.y[0];
    add_backward_step({.node = n, .call = Call::kRecompute}, step);
  }

  int in_backward(ValueId id) const { return rebuilt_[size_t(id)] ? of_rebuilt_[size_t(id)] : of_value_[size_t(id)]; }

  void add_backward_step(Step planned, StepBuffers step) {
    plan_.backward.push_back(std::move(planned));
    backward_buffers_.push_back(std::move(step));
  }

  // Gradients

  void seed_losses() {
    for (size_t id = 0; id < graph_().values.size(); ++id) {
      const Value& v = graph_().values[id];
      if (!v.wants_gradient || v.loss_weight == 0) continue;
      of_gradient_[id] = new_lasting(v.spec().bytes(), time_.seeds(), time_.backward(v.producer));
      plan_.seeds.push_back({ValueId(id), of_gradient_[id], v.spec().elements(), v.loss_weight});
    }
  }

  /// Gradients that no layer and no loss writes: an observer may.
  void open_gradients() {
    for (size_t id = 0; id < graph_().values.size(); ++id) {
      const Value& v = graph_().values[id];
      const bool sent = std::any_of(v.readers.begin(), v.readers.end(), [&](const Reader& reader) {
        return node(reader.node).wants_dx[size_t(reader.input)];
      });
      if (v.wants_gradient && v.loss_weight == 0 && !sent)
        of_gradient_[id] = new_lasting(v.spec().bytes(), time_.seeds(), time_.seeds());
    }
  }

  void place_backward(int n) {
    Node& node = this->node(n);
    const LayerNeeds& needs = plan_.needs[size_t(n)];
    const int time = time_.backward(n);
    for (int m = 0; m <= n; ++m)
      if (recomputes_[size_t(m)].target == n) place_recompute(m);
    if (leaves_sum(node)) return;
    StepBuffers step = steps_[size_t(n)];
    step.scratch = kNone;
    for (size_t i = 0; i < node.x.size(); ++i) step.x[i] = in_backward(node.x[i]);
    for (size_t i = 0; i < node.y.size(); ++i) step.y[i] = in_backward(node.y[i]);
    for (const ValueId id : node.y) step.dy.push_back(of_gradient_[size_t(id)]);
    if (const std::vector<ValueId> parts = graph_().dy_parts(node); !parts.empty()) {
      step.dy[0] = of_gradient_[size_t(parts[0])];
      step.more_dy = of_gradient_[size_t(parts[1])];
    }
    Step planned{.node = n, .call = Call::kBackward};
    if (needs.aliasing.overwrites_dy && !step.dy.empty() && step.dy[0] != kNone)
      give_private_dy(step, planned, node, time);
    int one = kNone;
    for (size_t i = 0; i < node.x.size(); ++i) {
      step.dx.push_back(node.wants_dx[i] ? place_dx(node, i, needs, step, time, one) : kNone);
      if (step.dx.back() == kNone) continue;
      one = step.dx.back();
      of_gradient_[size_t(node.x[i])] = step.dx.back();
    }
    if (needs.backward_scratch > 0) step.scratch = new_buffer(needs.backward_scratch, time, time);
    for (size_t k = 0; k < node.w.size(); ++k) place_dw(node, k, time, planned);
    add_backward_step(std::move(planned), std::move(step));
  }

  void place_dw(const Node& node, size_t k, int time, Step& planned) {
    const size_t id = size_t(node.w[k]);
    planned.add_dw.push_back(last_writer_[id] != kNone);
    if (!node.wants_dw[k]) return;
    last_writer_[id] = int(plan_.backward.size());
    if (!graph_().options.transient_gradients) return;
    if (of_dw_[id] == kNone) of_dw_[id] = new_buffer(plan_.w_formats[id].bytes(), time, time);
    join(of_dw_[id], time);
  }

  /// The step overwrites dy[0]: where that is read later or observed, it gets a copy.
  void give_private_dy(StepBuffers& step, Step& planned, const Node& node, int time) {
    const int64_t bytes = value(node.y[0]).spec().bytes();
    if (free_after(step.dy[0], time, bytes)) return;
    step.copy_dy_from = step.dy[0];
    step.dy[0] = new_buffer(bytes, time, time);
    planned.copy_dy_bytes = bytes;
  }

  int place_dx(const Node& node, size_t i, const LayerNeeds& needs, const StepBuffers& step, int time, int one) {
    const Value& x = value(node.x[i]);
    const NodeId reader = reader_of_gradient(x);
    const int read = std::max(time, this->node(reader).runs_backward ? time_.backward(reader) : time);
    const int64_t bytes = x.spec().bytes();
    const int dy = step.dy.empty() ? kNone : step.dy[0];
    int shared = kNone;
    if (needs.aliasing.dx_is_dy)
      shared = dy;
    else if (needs.aliasing.dx_are_one && one != kNone)
      shared = one;
    else if (i == needs.aliasing.dx_over_dy(node.wants_dx) && dy != kNone && free_after(dy, time, bytes))
      shared = dy;
    if (shared == kNone) return new_lasting(bytes, time, read);
    join(shared, read);
    return shared;
  }

  /// The node that reads the gradient: the producer of the value, or of the sum's first operand.
  NodeId reader_of_gradient(const Value& v) {
    const Node& maker = node(v.producer);
    return leaves_sum(maker) ? value(maker.x[0]).producer : v.producer;
  }

  // Offsets

  void assign_offsets() {
    std::vector<Lifetime> lifetimes;
    for (const Buffer& b : buffers_) lifetimes.push_back({b.bytes, b.first, b.last});
    const Placement placement = place_memory(lifetimes, alignment_);
    offsets_ = placement.offsets;
    plan_.arena_bytes = placement.bytes;
    plan_.live_bytes = placement.live;
    for (Step& step : plan_.forward) fill(step, steps_[size_t(step.node)]);
    for (size_t i = 0; i < plan_.backward.size(); ++i) fill(plan_.backward[i], backward_buffers_[i]);
    for (size_t id = 0; id < graph_().values.size(); ++id) plan_.values.push_back(slot(ValueId(id), of_value_[id]));
    for (size_t id = 0; id < graph_().values.size(); ++id)
      plan_.gradients.push_back(slot(ValueId(id), of_gradient_[id]));
    for (LossGradient& seed : plan_.seeds) seed.offset = offset(int(seed.offset));
    for (const int buffer : of_dw_) plan_.dw_offsets.push_back(offset(buffer));
  }

  int64_t offset(int buffer) const { return buffer == kNone ? -1 : offsets_[size_t(buffer)]; }
  Slot slot(ValueId id, int buffer) { return {value(id).spec(), offset(buffer)}; }

  void fill(Step& step, const StepBuffers& buffers) {
    const Node& node = this->node(step.node);
    for (size_t i = 0; i < node.x.size(); ++i) {
      step.x.push_back(slot(node.x[i], buffers.x[i]));
      step.dx.push_back(slot(node.x[i], i < buffers.dx.size() ? buffers.dx[i] : kNone));
    }
    for (size_t i = 0; i < node.y.size(); ++i) {
      step.y.push_back(slot(node.y[i], buffers.y[i]));
      step.dy.push_back(slot(node.y[i], i < buffers.dy.size() ? buffers.dy[i] : kNone));
    }
    if (buffers.more_dy != kNone) step.more_dy = slot(graph_().dy_parts(node)[1], buffers.more_dy);
    for (const int saved : buffers.saved) step.saved.push_back(offset(saved));
    step.scratch = offset(buffers.scratch);
    step.copy_dy_from = offset(buffers.copy_dy_from);
    if (step.add_dw.empty()) step.add_dw.assign(node.w.size(), false);
  }

  Plan plan_;
  int64_t alignment_;
  int nodes_;
  Timeline time_;
  std::vector<Buffer> buffers_;
  std::vector<int> of_value_, of_gradient_;    // per value: its buffer
  std::vector<int> of_rebuilt_;                // per value: its buffer in backward, if recomputed
  std::vector<bool> rebuilt_;                  // per value
  std::vector<Recompute> recomputes_;          // per node
  std::vector<int> of_dw_;                     // per weight: its gradient's buffer, if in the arena
  std::vector<int> last_writer_;               // per weight: the latest planned step that writes its gradient
  std::vector<StepBuffers> steps_;             // per node, forward
  std::vector<StepBuffers> backward_buffers_;  // per planned backward step
  std::vector<int64_t> offsets_;               // per buffer
};

}  // namespace

int64_t Plan::weight_bytes() const {
  int64_t sum = 0;
  for (const kernels::WeightFormat& format : w_formats) sum += format.bytes();
  return sum;
}

int64_t Plan::derived_bytes() const {
  int64_t sum = 0;
  for (const LayerNeeds& layer : needs)
    for (const kernels::WeightFormat& format : layer.derived) sum += format.bytes();
  return sum;
}

int64_t Plan::learned_bytes() const {
  int64_t sum = 0;
  for (size_t id = 0; id < w_formats.size(); ++id)
    if (graph.options.backward && graph.weights[id].learns()) sum += w_formats[id].bytes();
  return sum;
}

int64_t Plan::gradient_bytes() const {
  int64_t sum = learned_bytes();
  for (size_t id = 0; id < w_formats.size(); ++id)
    if (dw_offsets[id] >= 0) sum -= w_formats[id].bytes();
  return sum;
}

Plan make_plan(Graph graph, Context& context, const Plan* formats_from) {
  for (const Value& value : graph.values)
    if (!value.shape_known && value.producer >= 0)
      throw Error(ExitCode::kNet, "the shape of '" + value.name + "' is unknown without its dataset");
  Plan plan;
  plan.graph = std::move(graph);
  prepare_layers(plan, context, formats_from);
  plan = Planner(std::move(plan), context.shares_host_memory() ? kHostAlignment : kDeviceAlignment).run();
  if (plan.graph.options.verify) throw_if_invalid(find_faults(plan), "the planner");
  return plan;
}

}  // namespace cortado::graph
