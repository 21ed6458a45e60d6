#include "layers/registry.h"

#include <map>

#include "core/error.h"

namespace cortado {

namespace {

std::map<std::string, LayerType>& types() {
  static std::map<std::string, LayerType> map;
  return map;
}

}  // namespace

RegisterLayer::RegisterLayer(LayerType type) {
  if (!types().emplace(type.name, type).second) throw_internal("two layer types are called '" + type.name + "'");
}

RegisterLayer::RegisterLayer(const LayerType& type, const std::string& also, const std::string& help)
    : RegisterLayer(type) {
  LayerType other = type;
  other.name = also;
  other.alias_of = type.name;
  other.help = help;
  RegisterLayer{other};
}

const LayerType* find_layer_type(const std::string& name) {
  const auto found = types().find(name);
  return found == types().end() ? nullptr : &found->second;
}

LayerKind kind_of(const std::string& type) {
  const LayerType* found = find_layer_type(type);
  return found ? found->kind : LayerKind::kComputing;
}

bool reads_records(const std::string& type) {
  const LayerType* found = find_layer_type(type);
  return found && found->pipeline;
}

bool reads_options(const std::string& type, const std::string& options) {
  const LayerType* found = find_layer_type(type);
  return found && found->options == options;
}

LayerFamily family_of(const LayerType& type) {
  if (type.loss) return LayerFamily::kLoss;
  if (type.kind == LayerKind::kData || type.kind == LayerKind::kInput) return LayerFamily::kData;
  if (type.kind == LayerKind::kScore) return LayerFamily::kScore;
  return type.family;
}

const LossRole* find_loss_role(const std::string& type) {
  const LayerType* found = find_layer_type(type);
  return found && found->loss ? &*found->loss : nullptr;
}

std::vector<const LayerType*> all_layer_types() {
  std::vector<const LayerType*> list;
  for (const auto& [name, type] : types())
    if (type.kind != LayerKind::kInternal) list.push_back(&type);
  return list;
}

}  // namespace cortado
