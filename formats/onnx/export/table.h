#pragma once

// Maps layer types to export functions. Each family of types adds its own; a type without an entry cannot be exported.

#include <map>
#include <string>
#include <vector>

#include "onnx/export/layer_writer.h"

namespace cortado::exporting {

/// Writes the nodes of one layer. Throws Refusal, or FieldError like layers.
using Exporter = void (*)(LayerWriter& layer);
using Table = std::map<std::string, Exporter>;

/// The export function of a type, or null.
Exporter exporter_of(const std::string& type);

// One function per family.
void add_activations(Table& table);
void add_arithmetic(Table& table);
void add_convolutions(Table& table);
void add_poolings(Table& table);
void add_norms(Table& table);
void add_products(Table& table);
void add_attention(Table& table);
void add_shapes(Table& table);
void add_resizing(Table& table);
void add_recurrent(Table& table);
void add_selections(Table& table);
void add_regions(Table& table);
void add_dense_blocks(Table& table);
void add_detections(Table& table);
void add_grid_detections(Table& table);
void add_proposals(Table& table);

}  // namespace cortado::exporting
