// From a graph whose layouts are chosen to a plan. Time is counted in steps: forward step n is node n; the losses' gradients
// are seeded at step N; backward runs the nodes in reverse, at steps after N. A buffer is one piece of memory; values and
// gradients join a buffer where layers say that they may lie in the same place.

#include "graph/plan.h"

#include <algorithm>
#include <limits>
#include <set>
#include <sstream>

#include "graph/place_memory.h"

namespace cortado::graph {

namespace {

constexpr int kForever = std::numeric_limits<int>::max();
constexpr int kNone = -1;

/// Stable for a layer's name and position, so that its random draws are the same in every run.
uint64_t seed_of(const Node& node) {
  uint64_t hash = 1469598103934665603ull;  // FNV-1a
  for (const char c : node.name) hash = (hash ^ uint64_t(static_cast<unsigned char>(c))) * 1099511628211ull;
  return hash;
}

class Planner {
 public:
  Planner(Graph graph, Context& context, const Plan* formats_from) : context_(context), from_(formats_from) {
    plan_.graph = std::move(graph);
    nodes_ = int(graph_().nodes.size());
    of_value_.assign(graph_().values.size(), kNone);
    of_gradient_.assign(graph_().values.size(), kNone);
  }

  Plan run() {
    take_given_formats();
    for (Node& node : graph_().nodes) prepare(node);
    for (int n = 0; n < nodes_; ++n) place_forward(n);
    seed_losses();
    for (int n = nodes_ - 1; n >= 0; --n)
      if (node(n).runs_backward) place_backward(n);
    assign_offsets();
    return std::move(plan_);
  }

 private:
  /// One piece of memory and who reads it when. It may hold several values one after another, or one under several names.
  struct Buffer {
    int64_t bytes = 0;
    int first = 0, last = 0;
    bool pinned = false;  ///< somebody outside looks at it: never to be overwritten
  };

  /// A step's places as buffers, turned into offsets at the end.
  struct StepBuffers {
    std::vector<int> x, y, dx, dy, saved;
    int scratch = kNone, copy_dy_from = kNone;
  };

  Graph& graph_() { return plan_.graph; }
  Node& node(int n) { return plan_.graph.nodes[size_t(n)]; }
  Value& value(ValueId id) { return plan_.graph.values[size_t(id)]; }
  int backward_time(int n) const { return nodes_ + 1 + (nodes_ - 1 - n); }

  // Layers

  void take_given_formats() {
    plan_.w_formats.resize(graph_().weights.size());
    given_.assign(graph_().weights.size(), false);
    if (!from_) return;
    for (size_t id = 0; id < graph_().weights.size(); ++id) {
      const Weight& weight = graph_().weights[id];
      const int source = from_->graph.source_named(weight.layer);
      if (source < 0) continue;
      const auto& theirs = from_->graph.layers[size_t(source)].weights;
      if (size_t(weight.index) >= theirs.size()) continue;
      const Weight& owner = from_->graph.weights[size_t(theirs[size_t(weight.index)])];
      if (owner.spec.shape != weight.spec.shape)
        throw Error(ExitCode::kNet, {graph_().place_of_layer(graph_().source_named(weight.layer)),
                                     "layer '" + weight.layer + "': its weights have shape " + weight.spec.shape.str() +
                                         " here and " + owner.spec.shape.str() + " in the training net",
                                     "layers of one name share their weights between the nets", {}});
      plan_.w_formats[id] = from_->w_formats[size_t(theirs[size_t(weight.index)])];
      given_[id] = true;
    }
  }

  void prepare(Node& node) {
    PrepareRequest request;
    for (const ValueId id : node.x) request.x.push_back(value(id).spec());
    for (const ValueId id : node.y) {
      request.y.push_back(value(id).spec());
      request.has_dy.push_back(node.runs_backward && value(id).wants_gradient);
    }
    for (const WeightId id : node.w) {
      request.w.push_back({graph_().weights[size_t(id)].spec.shape, DType::kF32, Layout::kPlain});
      request.fixed_weight_formats = request.fixed_weight_formats || given_[size_t(id)];
    }
    if (request.fixed_weight_formats)
      for (const WeightId id : node.w)
        request.w_formats.push_back(given_[size_t(id)] ? plan_.w_formats[size_t(id)]
                                                       : kernels::WeightFormat(graph_().weights[size_t(id)].spec.shape));
    request.wants_dx = node.wants_dx;
    request.wants_dw = node.wants_dw;
    request.backward = node.runs_backward;
    request.frozen = graph_().options.frozen;
    request.adds_dw = graph_().options.accumulates || shares_weights(node);
    request.layer_seed = seed_of(node);
    plan_.needs.push_back(prepare_layer(node, request));
    take_formats(node, request, plan_.needs.back());
  }

  bool shares_weights(const Node& node) {
    for (const WeightId id : node.w) {
      int users = 0;
      for (const Node& other : graph_().nodes) users += int(std::count(other.w.begin(), other.w.end(), id));
      if (users > 1) return true;
    }
    return false;
  }

  LayerNeeds prepare_layer(Node& node, const PrepareRequest& request) {
    try {
      return node.layer->prepare(request, context_);
    } catch (const FieldError& e) {
      throw Error(ExitCode::kNet, {graph_().place(node, e.field()),
                                   "layer '" + node.name + "' (" + node.type + "): " + e.message(), e.hint(), {}});
    }
  }

  void take_formats(const Node& node, const PrepareRequest& request, const LayerNeeds& needs) {
    for (size_t k = 0; k < node.w.size(); ++k) {
      const size_t id = size_t(node.w[k]);
      if (given_[id]) continue;
      plan_.w_formats[id] = request.fixed_weight_formats ? request.w_formats[k]
                            : needs.w_formats.empty()    ? kernels::WeightFormat(graph_().weights[id].spec.shape)
                                                         : needs.w_formats[k];
      given_[id] = true;
    }
  }

  // Buffers

  int new_buffer(int64_t bytes, int first, int last) {
    buffers_.push_back({bytes, first, std::max(first, last), false});
    return int(buffers_.size()) - 1;
  }

  void join(int buffer, int last, bool pinned = false) {
    buffers_[size_t(buffer)].last = std::max(buffers_[size_t(buffer)].last, last);
    buffers_[size_t(buffer)].pinned = buffers_[size_t(buffer)].pinned || pinned;
  }

  /// The last step that reads a value, given what every layer's backward reads.
  int last_read(ValueId id) {
    const Value& v = value(id);
    if (v.kept) return kForever;
    int last = v.producer;
    for (const Reader& reader : v.readers) {
      const std::vector<bool>& reads = plan_.needs[size_t(reader.node)].backward_reads_x;
      const bool later = node(reader.node).runs_backward && size_t(reader.input) < reads.size() && reads[size_t(reader.input)];
      last = std::max(last, later ? backward_time(reader.node) : reader.node);
    }
    const std::vector<bool>& reads = plan_.needs[size_t(v.producer)].backward_reads_y;
    if (node(v.producer).runs_backward && size_t(v.producer_output) < reads.size() && reads[size_t(v.producer_output)])
      last = std::max(last, backward_time(v.producer));
    return last;
  }

  bool free_after(int buffer, int time, int64_t bytes) {
    const Buffer& b = buffers_[size_t(buffer)];
    return !b.pinned && b.last <= time && b.bytes == bytes;
  }

  bool is_only_x_in(const Node& node, int buffer) {
    return std::count_if(node.x.begin(), node.x.end(), [&](ValueId id) { return of_value_[size_t(id)] == buffer; }) == 1;
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
      step.saved.push_back(new_buffer(bytes, n, node.runs_backward ? backward_time(n) : n));
    if (needs.forward_scratch > 0) step.scratch = new_buffer(needs.forward_scratch, n, n);
    saved_.push_back(step.saved);
    steps_.push_back(step);
    if (!needs.y_is_x) plan_.forward.push_back({n, false, {}, {}, {}, {}, {}, -1, {}, -1, 0}), forward_steps_.push_back(n);
  }

  int place_value(int n, size_t i, const LayerNeeds& needs) {
    const ValueId id = node(n).y[i];
    const int64_t bytes = value(id).spec().bytes();
    const int last = last_read(id);
    if (!node(n).x.empty()) {
      const int of_x = of_value_[size_t(node(n).x[needs.overwritten])];
      const bool takes = i == 0 && needs.y_may_overwrite_x && free_after(of_x, n, bytes) &&
                         (needs.overwritten == 0 || is_only_x_in(node(n), of_x));
      if (needs.y_is_x || takes) {
        join(of_x, last, value(id).kept);
        return of_x;
      }
    }
    const int buffer = new_buffer(bytes, needs.y_persists ? 0 : n, needs.y_persists ? kForever : last);
    buffers_[size_t(buffer)].pinned = value(id).kept || needs.y_persists;
    return buffer;
  }

  // Gradients

  void seed_losses() {
    for (size_t id = 0; id < graph_().values.size(); ++id) {
      const Value& v = graph_().values[id];
      if (!v.wants_gradient || v.loss_weight == 0) continue;
      of_gradient_[id] = new_buffer(v.spec().bytes(), nodes_, backward_time(v.producer));
      plan_.seeds.push_back({ValueId(id), of_gradient_[id], v.spec().elements(), v.loss_weight});
    }
  }

  void place_backward(int n) {
    Node& node = this->node(n);
    const LayerNeeds& needs = plan_.needs[size_t(n)];
    const int time = backward_time(n);
    StepBuffers step = steps_[size_t(n)];
    step.scratch = kNone;
    for (const ValueId id : node.y) step.dy.push_back(of_gradient_[size_t(id)]);
    Step planned{n, true, {}, {}, {}, {}, {}, -1, {}, -1, 0};
    if (needs.overwrites_dy && !step.dy.empty() && step.dy[0] != kNone) give_private_dy(step, planned, node, time);
    int one = kNone;
    for (size_t i = 0; i < node.x.size(); ++i) {
      step.dx.push_back(node.wants_dx[i] ? place_dx(node, i, needs, step, time, one) : kNone);
      if (step.dx.back() == kNone) continue;
      one = step.dx.back();
      of_gradient_[size_t(node.x[i])] = step.dx.back();
    }
    if (needs.backward_scratch > 0) step.scratch = new_buffer(needs.backward_scratch, time, time);
    for (const WeightId id : node.w) {
      planned.add_dw.push_back(written_.count(id) > 0);
      written_.insert(id);
    }
    backward_buffers_.push_back(step);
    plan_.backward.push_back(planned);
  }

  /// The step spoils dy[0]: where the memory is still read later (or looked at), it works on a copy.
  void give_private_dy(StepBuffers& step, Step& planned, const Node& node, int time) {
    const int64_t bytes = value(node.y[0]).spec().bytes();
    if (free_after(step.dy[0], time, bytes)) return;
    step.copy_dy_from = step.dy[0];
    step.dy[0] = new_buffer(bytes, time, time);
    planned.copy_dy_bytes = bytes;
  }

  int place_dx(const Node& node, size_t i, const LayerNeeds& needs, const StepBuffers& step, int time, int one) {
    const Value& x = value(node.x[i]);
    const int read = std::max(time, this->node(x.producer).runs_backward ? backward_time(x.producer) : time);
    const int64_t bytes = x.spec().bytes();
    const int dy = step.dy.empty() ? kNone : step.dy[0];
    int shared = kNone;
    if (needs.dx_is_dy) shared = dy;
    else if (needs.dx_are_one && one != kNone) shared = one;
    else if (i == first_wanted(node) && needs.dx_may_overwrite_dy && dy != kNone && free_after(dy, time, bytes)) shared = dy;
    if (shared == kNone) return new_buffer(bytes, time, read);
    join(shared, read);
    return shared;
  }

  static size_t first_wanted(const Node& node) {
    return size_t(std::find(node.wants_dx.begin(), node.wants_dx.end(), true) - node.wants_dx.begin());
  }

  // Offsets

  void assign_offsets() {
    std::vector<Lifetime> lifetimes;
    for (const Buffer& b : buffers_) lifetimes.push_back({b.bytes, b.first, b.last});
    const Placement placement = place_memory(lifetimes);
    offsets_ = placement.offsets;
    plan_.arena_bytes = placement.bytes;
    for (size_t i = 0; i < plan_.forward.size(); ++i) fill(plan_.forward[i], steps_[size_t(forward_steps_[i])]);
    for (size_t i = 0; i < plan_.backward.size(); ++i) fill(plan_.backward[i], backward_buffers_[i]);
    for (size_t id = 0; id < graph_().values.size(); ++id) plan_.values.push_back(slot(ValueId(id), of_value_[id]));
    for (LossSeed& seed : plan_.seeds) seed.offset = offset(int(seed.offset));
  }

  int64_t offset(int buffer) const { return buffer == kNone ? -1 : offsets_[size_t(buffer)]; }
  Slot slot(ValueId id, int buffer) { return {value(id).spec(), offset(buffer)}; }

  void fill(Step& step, const StepBuffers& buffers) {
    const Node& node = this->node(step.node);
    for (size_t i = 0; i < node.x.size(); ++i) {
      step.x.push_back(slot(node.x[i], buffers.x[i]));
      step.dx.push_back(slot(node.x[i], step.backward ? buffers.dx[i] : kNone));
    }
    for (size_t i = 0; i < node.y.size(); ++i) {
      step.y.push_back(slot(node.y[i], buffers.y[i]));
      step.dy.push_back(slot(node.y[i], step.backward ? buffers.dy[i] : kNone));
    }
    for (const int saved : buffers.saved) step.saved.push_back(offset(saved));
    step.scratch = offset(buffers.scratch);
    step.copy_dy_from = offset(buffers.copy_dy_from);
    if (step.add_dw.empty()) step.add_dw.assign(node.w.size(), false);
  }

  Context& context_;
  const Plan* from_;
  Plan plan_;
  int nodes_ = 0;
  std::vector<bool> given_;                      // per weight: its format is fixed
  std::vector<Buffer> buffers_;
  std::vector<int> of_value_, of_gradient_;      // per value: its buffer
  std::vector<std::vector<int>> saved_;          // per node
  std::vector<StepBuffers> steps_;               // per node, forward
  std::vector<int> forward_steps_;               // per planned forward step: its node
  std::vector<StepBuffers> backward_buffers_;    // per planned backward step
  std::vector<int64_t> offsets_;                 // per buffer
  std::set<WeightId> written_;
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

int64_t Plan::gradient_bytes() const {
  int64_t sum = 0;
  for (size_t id = 0; id < w_formats.size(); ++id)
    if (graph.options.backward && graph.weights[id].learns()) sum += w_formats[id].bytes();
  return sum;
}

Plan make_plan(Graph graph, Context& context, const Plan* formats_from) {
  for (const Value& value : graph.values)
    if (!value.shape_known && value.producer >= 0)
      throw Error(ExitCode::kNet, "the shape of '" + value.name + "' is not known without its dataset");
  return Planner(std::move(graph), context, formats_from).run();
}

namespace {

void print_slot(std::ostream& out, const char* name, const std::vector<Slot>& slots) {
  for (size_t i = 0; i < slots.size(); ++i)
    if (slots[i].offset >= 0)
      out << " " << name << i << "=" << slots[i].offset << "+" << slots[i].spec.bytes();
}

void print_step(std::ostream& out, const Plan& plan, const Step& step) {
  const Node& node = plan.graph.nodes[size_t(step.node)];
  out << (step.backward ? "backward " : "forward  ") << node.type << " '" << node.name << "'";
  print_slot(out, "x", step.x);
  print_slot(out, "y", step.y);
  print_slot(out, "dy", step.dy);
  print_slot(out, "dx", step.dx);
  if (step.scratch >= 0) out << " scratch=" << step.scratch;
  if (step.copy_dy_from >= 0) out << " copies dy0 from " << step.copy_dy_from;
  const std::string& algorithm = plan.needs[size_t(step.node)].algorithm;
  if (!algorithm.empty()) out << "  [" << algorithm << "]";
  out << "\n";
}

}  // namespace

std::string to_text(const Plan& plan) {
  std::ostringstream out;
  out << "arena " << plan.arena_bytes << " bytes, weights " << plan.weight_bytes() << " bytes, gradients "
      << plan.gradient_bytes() << " bytes";
  if (const int64_t derived = plan.derived_bytes(); derived > 0) out << ", derived weights " << derived << " bytes";
  out << "\n";
  for (const Step& step : plan.forward) print_step(out, plan, step);
  for (const Step& step : plan.backward) print_step(out, plan, step);
  return out.str();
}

}  // namespace cortado::graph
