#include "tools/net/unread_fields.h"

#include "core/text/text.h"
#include "layers/registry.h"

namespace cortado::tools {

std::vector<Diagnostic> unread_field_warnings(const graph::Graph& graph) {
  std::vector<Diagnostic> warnings;
  for (size_t i = 0; i < graph.layers.size(); ++i) {
    const caffe::LayerParameter& layer = *graph.layers[i].config;
    const LayerType* type = find_layer_type(layer.type());
    if (!type) continue;
    std::vector<const google::protobuf::FieldDescriptor*> fields;
    const caffe::LossParameter& loss = layer.loss_param();
    loss.GetReflection()->ListFields(loss, &fields);
    for (const auto* field : fields) {
      if (reads_loss_field(*type, field->name())) continue;
      const std::string name = "loss_param." + field->name();
      Diagnostic warning;
      warning.place = graph.place_of_layer(int(i), name);
      warning.message = layer_text(layer.name(), layer.type()) + ": " + name + " has no effect in this type";
      warning.hint = "remove it";
      warnings.push_back(std::move(warning));
    }
  }
  return warnings;
}

}  // namespace cortado::tools
