// A result can be recomputed if its layer supports that and its inputs are available in backward: because the layer's
// own backward reads them too, or because they can be recomputed themselves. A normalisation is recomputed from the
// convolution before it; a residual sum from the normalisation and the sum before it, and so on to the first.
//
// A recompute runs before the first step of backward that needs it; its inputs are needed from then on as well.

#include "graph/recompute.h"

#include <algorithm>

namespace cortado::graph {

namespace {

bool says(const std::vector<bool>& list, int i) { return size_t(i) < list.size() && list[size_t(i)]; }

class RecomputeChooser {
 public:
  RecomputeChooser(const Plan& plan, const Timeline& time)
      : plan_(plan), time_(time), possible_(plan.graph.nodes.size(), false), chosen_(plan.graph.nodes.size()) {}

  std::vector<Recompute> run() {
    const int nodes = int(plan_.graph.nodes.size());
    for (int n = 0; n < nodes; ++n) possible_[size_t(n)] = is_possible(n);
    for (int n = nodes - 1; n >= 0; --n)
      if (possible_[size_t(n)]) choose(n);
    return std::move(chosen_);
  }

 private:
  const Node& node(int n) const { return plan_.graph.node(n); }
  const Value& value(ValueId id) const { return plan_.graph.value(id); }
  const LayerNeeds& needs(int n) const { return plan_.needs[size_t(n)]; }

  bool is_possible(int n) const {
    if (!needs(n).can_recompute_y || !node(n).runs_backward || node(n).y.size() != 1) return false;
    for (const ValueId id : same_memory(plan_, node(n).y[0]))
      if (value(id).kept) return false;
    for (size_t i = 0; i < node(n).x.size(); ++i)
      if (!reads_in_backward(plan_, {n, int(i)}) && !possible_[size_t(maker_of(node(n).x[i]))]) return false;
    return true;
  }

  /// The node that wrote the value's memory: the producer, skipping views.
  int maker_of(ValueId id) const {
    while (needs(value(id).producer).aliasing.y_is_in_x(size_t(value(id).producer_output)))
      id = node(value(id).producer).x[0];
    return value(id).producer;
  }

  void choose(int n) {
    Recompute& recompute = chosen_[size_t(n)];
    const auto add = [&](int target, int time) {
      recompute.target = std::max(recompute.target, target);  // backward reaches the later node first
      recompute.last = std::max(recompute.last, time);
    };
    for (const ValueId id : same_memory(plan_, node(n).y[0])) {
      for (const Reader& reader : value(id).readers) {
        const int target = chosen_[size_t(reader.node)].target;
        if (target >= 0) add(target, time_.recompute(reader.node, target));
        if (reads_in_backward(plan_, reader)) add(reader.node, time_.backward(reader.node));
      }
      const int maker = value(id).producer;
      if (maker_reads_in_backward(plan_, value(id))) add(maker, time_.backward(maker));
    }
  }

  const Plan& plan_;
  Timeline time_;
  std::vector<bool> possible_;
  std::vector<Recompute> chosen_;
};

}  // namespace

std::vector<Recompute> choose_recomputes(const Plan& plan, const Timeline& time) {
  return RecomputeChooser(plan, time).run();
}

std::vector<ValueId> same_memory(const Plan& plan, ValueId id) {
  std::vector<ValueId> names = {id};
  for (size_t i = 0; i < names.size(); ++i)
    for (const Reader& reader : plan.graph.value(names[i]).readers) {
      if (reader.input != 0) continue;
      const std::vector<ValueId>& y = plan.graph.node(reader.node).y;
      for (size_t k = 0; k < y.size(); ++k)
        if (plan.needs[size_t(reader.node)].aliasing.y_is_in_x(k)) names.push_back(y[k]);
    }
  return names;
}

bool reads_in_backward(const Plan& plan, const Reader& reader) {
  return plan.graph.node(reader.node).runs_backward &&
         says(plan.needs[size_t(reader.node)].backward_reads_x, reader.input);
}

bool maker_reads_in_backward(const Plan& plan, const Value& value) {
  return plan.graph.node(value.producer).runs_backward &&
         says(plan.needs[size_t(value.producer)].backward_reads_y, value.producer_output);
}

}  // namespace cortado::graph
