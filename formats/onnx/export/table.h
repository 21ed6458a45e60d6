#pragma once

// Which function writes which type of layer. Each family of types fills in its own; a type that is nowhere has no
// ONNX operator, or none yet.

#include <map>
#include <string>
#include <vector>

#include "onnx/export/layer_writer.h"

namespace cortado::exporting {

/// Writes the nodes of one layer. Throws Refusal, or FieldError as layers do.
using Exporter = void (*)(LayerWriter& layer);
using Table = std::map<std::string, Exporter>;

/// The function of a type; null where there is none.
Exporter exporter_of(const std::string& type);

// The families.
void add_activations(Table& table);
void add_arithmetic(Table& table);
void add_convolutions(Table& table);
void add_poolings(Table& table);
void add_norms(Table& table);
void add_products(Table& table);
void add_shapes(Table& table);
void add_resizing(Table& table);
void add_recurrent(Table& table);
void add_regions(Table& table);

}  // namespace cortado::exporting
