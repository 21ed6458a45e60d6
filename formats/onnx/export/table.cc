#include "onnx/export/table.h"

namespace cortado::exporting {

namespace {

Table make_table() {
  Table table;
  for (const auto add : {add_activations, add_arithmetic, add_convolutions, add_poolings, add_norms, add_products,
                         add_attention, add_shapes, add_resizing, add_recurrent, add_regions, add_detections,
                         add_grid_detections, add_proposals, add_selections, add_dense_blocks})
    add(table);
  return table;
}

}  // namespace

Exporter exporter_of(const std::string& type) {
  static const Table table = make_table();
  const auto found = table.find(type);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace cortado::exporting
