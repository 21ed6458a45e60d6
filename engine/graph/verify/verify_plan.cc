// Checks a plan by symbolic execution: every byte of the arena has a label for its content. Every step checks that its
// operands still have their labels, and then labels what it writes. The planner's lifetimes are not used. Two
// iterations run, because what persists between them must survive the first.

#include <algorithm>
#include <map>

#include "graph/verify/verify.h"

namespace cortado::graph {

namespace {

/// The content of a piece of memory.
struct Label {
  enum Kind { kNothing, kValue, kGradient, kSaved, kWeightGradient, kScratch } kind = kNothing;
  int id = 0, part = 0;  ///< of the value, weight or node; which of the node's saved pieces
  bool operator==(const Label&) const = default;
};

/// The arena's labels: disjoint pieces, by first byte.
class Arena {
 public:
  void write(int64_t begin, int64_t bytes, Label label) {
    if (begin < 0 || bytes <= 0) return;
    const int64_t end = begin + bytes;
    cut(begin);
    cut(end);
    pieces_.erase(pieces_.lower_bound(begin), pieces_.lower_bound(end));
    pieces_[begin] = {end, label};
  }

  bool holds(int64_t begin, int64_t bytes, Label label) const {
    if (begin < 0 || bytes <= 0) return true;
    int64_t at = begin;
    auto piece = pieces_.upper_bound(begin);
    if (piece == pieces_.begin()) return false;
    for (--piece; at < begin + bytes; ++piece) {
      if (piece == pieces_.end() || piece->first > at || piece->second.end <= at || !(piece->second.label == label))
        return false;
      at = piece->second.end;
    }
    return true;
  }

 private:
  struct Piece {
    int64_t end;
    Label label;
  };

  /// Splits the piece that spans `at`.
  void cut(int64_t at) {
    auto piece = pieces_.lower_bound(at);
    if (piece == pieces_.begin()) return;
    --piece;
    if (piece->second.end <= at) return;
    const Piece rest = piece->second;
    piece->second.end = at;
    pieces_[at] = rest;
  }

  std::map<int64_t, Piece> pieces_;
};

class PlanCheck {
 public:
  explicit PlanCheck(const Plan& plan) : plan_(plan), graph_(plan.graph) {}

  std::vector<std::string> run() {
    check_bounds();
    write_persistent();
    for (int iteration = 0; iteration < 2 && faults_.empty(); ++iteration) {
      for (const Step& step : plan_.forward) run_forward(step);
      check_kept("after forward");
      for (const LossGradient& seed : plan_.seeds) write(seed.offset, bytes_of(seed.value), gradient(seed.value));
      if (graph_.options.observed) write_open_gradients();
      for (const Step& step : plan_.backward) step.call == Call::kRecompute ? run_forward(step) : run_backward(step);
      if (!plan_.backward.empty()) check_kept("after backward");
    }
    return faults_;
  }

 private:
  /// An operand that a step reads: its place and expected content.
  struct Read {
    int64_t offset, bytes;
    Label label;
    std::string what;
  };

  const Node& node(const Step& step) const { return graph_.node(step.node); }
  const LayerNeeds& needs(NodeId n) const { return plan_.needs[size_t(n)]; }
  const Value& value(ValueId id) const { return graph_.value(id); }
  int64_t bytes_of(ValueId id) const { return value(id).spec().bytes(); }
  static bool says(const std::vector<bool>& list, size_t i) { return i < list.size() && list[i]; }
  void write(int64_t begin, int64_t bytes, Label label) { arena_.write(begin, bytes, label); }

  /// The content of a value; views have that of their x[0].
  Label content(ValueId id) const {
    while (value(id).producer >= 0 && needs(value(id).producer).aliasing.y_is_in_x(size_t(value(id).producer_output)))
      id = graph_.node(value(id).producer).x[0];
    return {Label::kValue, id, 0};
  }

  /// The gradient of a value; where the sending layer passes its own dy on, that one.
  Label gradient(ValueId id) const {
    for (const Reader& reader : value(id).readers) {
      const Node& sender = graph_.node(reader.node);
      if (!sender.runs_backward || !says(sender.wants_dx, size_t(reader.input))) continue;
      if (needs(reader.node).aliasing.dx_is_dy) return gradient(sender.y[0]);
      if (!needs(reader.node).aliasing.dx_are_one) break;
      for (size_t i = 0; i < sender.x.size(); ++i)
        if (sender.wants_dx[i]) return {Label::kGradient, sender.x[i], 0};
    }
    return {Label::kGradient, id, 0};
  }

  void fault(const Step& step, const std::string& what) {
    const char* call = step.call == Call::kForward    ? "forward"
                       : step.call == Call::kBackward ? "backward"
                                                      : "recompute";
    faults_.push_back(std::string(call) + " of '" + node(step).name + "': " + what);
  }

  void require(const Step& step, const std::vector<Read>& reads, const char* when) {
    for (const Read& read : reads)
      if (!arena_.holds(read.offset, read.bytes, read.label)) fault(step, read.what + " is not in memory " + when);
  }

  void add_value(std::vector<Read>& reads, const Slot& slot, ValueId id, const char* operand) const {
    reads.push_back({slot.offset, slot.spec.bytes(), content(id), std::string(operand) + " '" + value(id).name + "'"});
  }

  void check_bounds() {
    const auto check = [&](const Step& step, const std::vector<Slot>& slots) {
      for (const Slot& slot : slots)
        if (slot.offset >= 0 && slot.offset + slot.spec.bytes() > plan_.arena_bytes)
          fault(step, "an operand exceeds the arena");
    };
    for (const auto* steps : {&plan_.forward, &plan_.backward})
      for (const Step& step : *steps) {
        for (const auto* slots : {&step.x, &step.y, &step.dx, &step.dy}) check(step, *slots);
        check(step, {step.more_dy});
      }
  }

  /// Gradients that an observer may write and no layer does. Each has its own memory, so that none is overwritten.
  void write_open_gradients() {
    for (size_t v = 0; v < graph_.values.size(); ++v)
      if (plan_.gradients[v].offset >= 0) write(plan_.gradients[v].offset, bytes_of(ValueId(v)), gradient(ValueId(v)));
  }

  void write_persistent() {
    for (size_t n = 0; n < graph_.nodes.size(); ++n)
      if (needs(NodeId(n)).aliasing.y_persists)
        for (const ValueId id : graph_.nodes[n].y) write(plan_.values[size_t(id)].offset, bytes_of(id), content(id));
  }

  void check_kept(const char* when) {
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      const Slot& slot = plan_.values[v];
      if (graph_.values[v].kept && graph_.values[v].producer >= 0 &&
          !arena_.holds(slot.offset, slot.spec.bytes(), content(ValueId(v))))
        faults_.push_back("'" + graph_.values[v].name + "', which must be kept, is overwritten " + when);
    }
  }

  /// Forward, and the recompute of y in backward, which reads what forward saved.
  void run_forward(const Step& step) {
    const LayerNeeds& needs = this->needs(step.node);
    const bool again = step.call == Call::kRecompute;
    std::vector<Read> reads, written;
    for (size_t i = 0; i < step.x.size(); ++i) add_value(reads, step.x[i], node(step).x[i], "x");
    if (again) add_saved(reads, step);
    write(step.scratch, again ? needs.recompute_scratch : needs.forward_scratch, {Label::kScratch, step.node, 0});
    require(step, reads, "when it is read");
    if (!again) {
      add_saved(written, step);
      for (const Read& saved : written) write(saved.offset, saved.bytes, saved.label);
    }
    require(step, reads, "once something is saved");
    for (size_t i = 0; i < step.y.size(); ++i) {
      add_value(written, step.y[i], node(step).y[i], "y");
      if (!needs.aliasing.y_persists) write(written.back().offset, written.back().bytes, written.back().label);
    }
    if (needs.aliasing.y_may_overwrite_x && !reads.empty())
      reads.erase(reads.begin() + std::ptrdiff_t(needs.aliasing.overwritten_x));
    written.push_back({step.scratch,
                       again ? needs.recompute_scratch : needs.forward_scratch,
                       {Label::kScratch, step.node, 0},
                       "scratch"});
    reads.insert(reads.end(), written.begin(), written.end());
    require(step, reads, "once y is written");
  }

  void add_saved(std::vector<Read>& reads, const Step& step) const {
    const std::vector<int64_t>& saved = needs(step.node).saved;
    for (size_t k = 0; k < saved.size(); ++k)
      reads.push_back(
          {step.saved[k], saved[k], {Label::kSaved, step.node, int(k)}, "saved piece " + std::to_string(k)});
  }

  void run_backward(const Step& step) {
    const LayerNeeds& needs = this->needs(step.node);
    const Node& node = this->node(step);
    std::vector<Read> reads, gradients;
    for (size_t i = 0; i < step.x.size(); ++i)
      if (says(needs.backward_reads_x, i)) add_value(reads, step.x[i], node.x[i], "x");
    for (size_t i = 0; i < step.y.size(); ++i)
      if (says(needs.backward_reads_y, i)) add_value(reads, step.y[i], node.y[i], "y");
    add_saved(reads, step);
    add_gradients_read(reads, step);
    write(step.scratch, needs.backward_scratch, {Label::kScratch, step.node, 0});
    require(step, reads, "when it is read");
    write_weight_gradients(step);
    require(step, reads, "once gradients of weights are written");
    write_dx(step, gradients);
    if (needs.aliasing.dx_may_overwrite_dy || needs.aliasing.overwrites_dy)
      std::erase_if(reads, [](const Read& read) { return read.what == "dy"; });
    reads.insert(reads.end(), gradients.begin(), gradients.end());
    reads.push_back({step.scratch, needs.backward_scratch, {Label::kScratch, step.node, 0}, "scratch"});
    require(step, reads, "once gradients are written");
    for (const WeightId id : step.complete)
      if (!arena_.holds(plan_.dw_offsets[size_t(id)], plan_.w_formats[size_t(id)].bytes(),
                        {Label::kWeightGradient, id, 0}))
        fault(step, "the gradient of a weight is not in memory when it is complete");
  }

  /// Reads dy, or first copies it where the step overwrites it.
  void add_gradients_read(std::vector<Read>& reads, const Step& step) {
    const Node& node = this->node(step);
    const auto read_dy = [&](const Slot& slot, ValueId id) {
      reads.push_back({slot.offset, slot.spec.bytes(), gradient(id), "dy"});
    };
    const std::vector<ValueId> parts = graph_.dy_parts(node);
    const bool in_parts = !parts.empty();
    if (step.copy_dy_from >= 0) {
      require(step, {{step.copy_dy_from, step.copy_dy_bytes, gradient(node.y[0]), "dy"}}, "when it is copied");
      write(step.dy[0].offset, step.copy_dy_bytes, gradient(node.y[0]));
    }
    for (size_t i = 0; i < step.dy.size(); ++i) read_dy(step.dy[i], in_parts ? parts[i] : node.y[i]);
    if (in_parts) read_dy(step.more_dy, parts[1]);
  }

  void write_weight_gradients(const Step& step) {
    const Node& node = this->node(step);
    for (size_t k = 0; k < node.w.size(); ++k) {
      const size_t id = size_t(node.w[k]);
      if (!node.wants_dw[k]) continue;
      const int64_t offset = plan_.dw_offsets[id], bytes = plan_.w_formats[id].bytes();
      const Label label{Label::kWeightGradient, node.w[k], 0};
      if (step.add_dw[k] && !arena_.holds(offset, bytes, label))
        fault(step, "the gradient that it adds to is not in memory");
      write(offset, bytes, label);
    }
  }

  void write_dx(const Step& step, std::vector<Read>& gradients) {
    const Node& node = this->node(step);
    const LayerNeeds& needs = this->needs(step.node);
    if (needs.aliasing.overwrites_dy && !step.dy.empty()) write(step.dy[0].offset, step.dy[0].spec.bytes(), {});
    for (size_t i = 0; i < step.dx.size(); ++i) {
      if (step.dx[i].offset < 0) continue;
      gradients.push_back({step.dx[i].offset, step.dx[i].spec.bytes(), gradient(node.x[i]), "dx " + std::to_string(i)});
      if (!needs.aliasing.dx_is_dy) write(gradients.back().offset, gradients.back().bytes, gradients.back().label);
    }
  }

  const Plan& plan_;
  const Graph& graph_;
  Arena arena_;
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> find_faults(const Plan& plan) { return PlanCheck(plan).run(); }

}  // namespace cortado::graph
