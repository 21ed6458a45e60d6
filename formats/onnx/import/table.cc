#include "onnx/import/table.h"

namespace cortado::importing {

namespace {

const Table& importers() {
  static const Table table = [] {
    Table table;
    for (const auto add :
         {add_activations, add_arithmetic, add_convolutions, add_poolings, add_norms, add_products, add_shapes,
          add_comparisons, add_einsum, add_pads, add_slices, add_resizing, add_reductions, add_recurrent})
      add(table);
    return table;
  }();
  return table;
}

const Table& folders() {
  static const Table table = [] {
    Table table;
    add_folding(table);
    add_shape_folding(table);
    add_value_folding(table);
    return table;
  }();
  return table;
}

Importer find(const Table& table, const std::string& op) {
  const auto found = table.find(op);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace

Importer importer_of(const std::string& op) { return find(importers(), op); }
Importer folder_of_op(const std::string& op) { return find(folders(), op); }

std::string operators() {
  std::string names;
  for (const auto& [name, importer] : importers()) names += (names.empty() ? "" : ", ") + name;
  return names;
}

}  // namespace cortado::importing
