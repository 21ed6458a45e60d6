#include "layers/registry.h"

#include <map>

namespace cortado {

namespace {

std::map<std::string, LayerType>& types() {
  static std::map<std::string, LayerType> map;
  return map;
}

}  // namespace

RegisterLayer::RegisterLayer(LayerType type) { types().emplace(type.name, type); }

const LayerType* find_layer_type(const std::string& name) {
  const auto found = types().find(name);
  return found == types().end() ? nullptr : &found->second;
}

const LossRole* find_loss_role(const std::string& type) {
  const LayerType* found = find_layer_type(type);
  return found && found->loss ? &*found->loss : nullptr;
}

std::vector<const LayerType*> all_layer_types() {
  std::vector<const LayerType*> list;
  for (const auto& [name, type] : types()) list.push_back(&type);
  return list;
}

}  // namespace cortado
