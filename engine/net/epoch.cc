#include "net/epoch.h"

#include "core/error.h"
#include "core/text/text.h"
#include "layers/roles.h"

namespace cortado {

int64_t records_of(const graph::Graph& graph, const std::string& field) {
  int64_t records = 0;
  std::string first;
  for (const graph::Node& node : graph.nodes) {
    if (!node.layer->roles().cursor) continue;
    const auto* source = node.layer->roles().records;
    if (!source || source->records() == 0)
      throw FieldError(field, layer_text(node.name, node.type) + " has an unknown number of records",
                       "set the length in iterations");
    if (records > 0 && source->records() != records)
      throw FieldError(field,
                       layer_text(first) + " has " + std::to_string(records) + " records, " + layer_text(node.name) +
                           " has " + std::to_string(source->records()) + ": an epoch needs equal numbers",
                       "set the length in iterations");
    records = source->records();
    first = node.name;
  }
  if (records == 0)
    throw FieldError(
        field, (graph.name.empty() ? "the net" : "net '" + graph.name + "'") + " has no layer that reads a dataset",
        "set the length in iterations");
  return records;
}

int64_t records_if_known(const graph::Graph& graph) {
  try {
    return records_of(graph, "");
  } catch (const FieldError&) {
    return 0;
  }
}

namespace {

/// Sets batch_size in every option of the layer that has one to change(path of the field below the layer, its value).
template <typename Change>
void change_batch(caffe::LayerParameter& layer, const Change& change) {
  const auto* reflection = layer.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection->ListFields(layer, &fields);
  for (const auto* field : fields) {
    if (field->is_repeated() || !field->message_type()) continue;
    google::protobuf::Message& options = *reflection->MutableMessage(&layer, field);
    const auto* size = options.GetDescriptor()->FindFieldByName("batch_size");
    if (!size || !options.GetReflection()->HasField(options, size)) continue;
    const auto* values = options.GetReflection();
    const std::string path = field->name() + ".batch_size";
    if (size->cpp_type() == size->CPPTYPE_UINT32)
      values->SetUInt32(&options, size, uint32_t(change(path, values->GetUInt32(options, size))));
    if (size->cpp_type() == size->CPPTYPE_INT32)
      values->SetInt32(&options, size, int32_t(change(path, values->GetInt32(options, size))));
  }
}

}  // namespace

std::shared_ptr<const NetFile> with_data_batch(const std::shared_ptr<const NetFile>& file, int64_t batch) {
  auto changed = std::make_shared<NetFile>(*file);
  for (caffe::LayerParameter& layer : *changed->net.mutable_layer())
    if (layer.bottom_size() == 0) change_batch(layer, [&](const std::string&, int64_t) { return batch; });
  return changed;
}

std::shared_ptr<const NetFile> with_divided_batch(const std::shared_ptr<const NetFile>& file, int64_t parts) {
  auto changed = std::make_shared<NetFile>(*file);
  for (int i = 0; i < changed->net.layer_size(); ++i) {
    caffe::LayerParameter& layer = *changed->net.mutable_layer(i);
    if (layer.bottom_size() > 0) continue;
    change_batch(layer, [&](const std::string& path, int64_t batch) {
      if (batch % parts != 0)
        throw Error(ExitCode::kNet, {file->positions.place(path_to("", "layer", i) + "." + path),
                                     "a batch of " + std::to_string(batch) + " cannot be divided among " +
                                         std::to_string(parts) + " shards",
                                     "set a multiple of " + std::to_string(parts),
                                     {}});
      return batch / parts;
    });
  }
  return changed;
}

}  // namespace cortado
