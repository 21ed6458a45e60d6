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
  if (type.kind == LayerKind::kData && type.batch_fields.empty()) type.batch_fields = {type.options + ".batch_size"};
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

namespace {

/// Sets a field that is a number, numbers, or shapes. Numbers and shapes that the file lacks stay missing.
void set_batch_field(google::protobuf::Message& message, const std::string& name, int64_t batch) {
  const auto* field = message.GetDescriptor()->FindFieldByName(name);
  const auto* reflection = message.GetReflection();
  const int count = field->is_repeated() ? reflection->FieldSize(message, field) : 0;
  if (field->cpp_type() == field->CPPTYPE_MESSAGE) {
    for (int i = 0; i < count; ++i)
      if (auto& shape = dynamic_cast<caffe::BlobShape&>(*reflection->MutableRepeatedMessage(&message, field, i));
          shape.dim_size() > 0)
        shape.set_dim(0, batch);
  } else if (field->is_repeated()) {
    for (int i = 0; i < count; ++i) reflection->SetRepeatedUInt32(&message, field, i, uint32_t(batch));
  } else if (field->cpp_type() == field->CPPTYPE_INT32) {
    reflection->SetInt32(&message, field, int32_t(batch));
  } else {
    reflection->SetUInt32(&message, field, uint32_t(batch));
  }
}

}  // namespace

void set_batch(caffe::LayerParameter& layer, int64_t batch) {
  const LayerType* type = find_layer_type(layer.type());
  if (!type) return;
  for (const std::string& path : type->batch_fields) {
    const size_t dot = path.find('.');
    const auto* options = layer.GetDescriptor()->FindFieldByName(path.substr(0, dot));
    set_batch_field(*layer.GetReflection()->MutableMessage(&layer, options), path.substr(dot + 1), batch);
  }
}

bool reads_loss_field(const LayerType& type, const std::string& field) {
  return (" " + type.loss_fields + " ").find(" " + field + " ") != std::string::npos;
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
