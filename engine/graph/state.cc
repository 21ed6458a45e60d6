// Selects layers by Caffe's phase, level and stage rules.

#include <algorithm>

#include "graph/graph.h"

namespace cortado::graph {

namespace {

bool has_stage(const caffe::NetState& state, const std::string& stage) {
  return std::find(state.stage().begin(), state.stage().end(), stage) != state.stage().end();
}

bool meets(const caffe::NetState& state, const caffe::NetStateRule& rule) {
  if (rule.has_phase() && rule.phase() != state.phase()) return false;
  if (rule.has_min_level() && state.level() < rule.min_level()) return false;
  if (rule.has_max_level() && state.level() > rule.max_level()) return false;
  for (const std::string& stage : rule.stage())
    if (!has_stage(state, stage)) return false;
  for (const std::string& stage : rule.not_stage())
    if (has_stage(state, stage)) return false;
  return true;
}

}  // namespace

caffe::NetState merge_states(const caffe::NetState& base, const caffe::NetState& over) {
  caffe::NetState merged = base;
  merged.MergeFrom(over);
  return merged;
}

bool selected(const caffe::LayerParameter& layer, const caffe::NetState& state) {
  const auto met = [&](const caffe::NetStateRule& rule) { return meets(state, rule); };
  if (layer.include_size() > 0) return std::any_of(layer.include().begin(), layer.include().end(), met);
  return std::none_of(layer.exclude().begin(), layer.exclude().end(), met);
}

}  // namespace cortado::graph
