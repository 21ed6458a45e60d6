// Names of new layers and blobs. A composition may read its bottom several times, so it cannot work in place: then the
// earlier value of the blob gets another name.
#include <algorithm>

#include "graph/dialect/rewriter.h"

namespace cortado::dialect {

std::string Rewriter::unused(std::set<std::string>& names, const std::string& base) {
  std::string name = base;
  while (!names.insert(name).second) name = base + "_" + std::to_string(++tried_[base] + 1);
  return name;
}

/// Replaces the name of a blob in the new layers.
void Rewriter::rename_blob(const std::string& from, const std::string& to) {
  for (auto* shapes : {&shapes_, &grown_})
    if (const auto shape = shapes->extract(from)) (*shapes)[to] = shape.mapped();
  auto uses = uses_.extract(from);
  if (uses.empty()) return;
  for (const int index : uses.mapped()) {
    caffe::LayerParameter& layer = *result_.net.mutable_layer(index);
    for (auto* names : {layer.mutable_bottom(), layer.mutable_top()})
      for (std::string& name : *names)
        if (name == from) name = to;
  }
  std::vector<int>& all = uses_[to];
  all.insert(all.end(), uses.mapped().begin(), uses.mapped().end());
}

/// If the layer works in place, renames its bottom, because a composition may read it several times. The
/// name of an input stays: then it is the top that gets another name.
void Rewriter::make_room_for_top(caffe::LayerParameter& layer) {
  const std::string name = layer.top(0);
  if (sources_.contains(name)) {
    renamed_[name] = unused(blobs_, layer.name());
    layer.set_top(0, renamed_[name]);
    return;
  }
  const std::string before = unused(blobs_, name + "_before_" + layer.name());
  rename_blob(name, before);
  for (std::string& bottom : *layer.mutable_bottom())
    if (bottom == name) bottom = before;
}

/// Names the last of the new layers like the layer that they replace, unless one of them has that name.
void Rewriter::finish(const caffe::LayerParameter& source, const Blob& result, int first) {
  auto& layers = *result_.net.mutable_layer();
  caffe::LayerParameter* last = nullptr;
  bool named = false;
  for (int i = first; i < layers.size(); ++i) {
    named |= layers[i].name() == source.name();
    if (std::find(layers[i].top().begin(), layers[i].top().end(), result.name) != layers[i].top().end())
      last = &layers[i];
  }
  if (last && !named) {
    if (auto weights = made_.extract(last->name())) {
      weights.key() = source.name();
      made_.insert(std::move(weights));
    }
    last->set_name(source.name());
  }
  rename_blob(result.name, source.top(0));
  for (int i = first; i < layers.size(); ++i) {
    *layers[i].mutable_include() = source.include();
    *layers[i].mutable_exclude() = source.exclude();
  }
}

caffe::LayerParameter Rewriter::with_new_names(caffe::LayerParameter layer) const {
  for (auto* names : {layer.mutable_bottom(), layer.mutable_top()})
    for (std::string& name : *names)
      if (const auto found = renamed_.find(name); found != renamed_.end()) name = found->second;
  return layer;
}

}  // namespace cortado::dialect
