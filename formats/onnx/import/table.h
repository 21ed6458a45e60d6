#pragma once

// Maps operators to import functions. Each family of operators adds its own.

#include <map>
#include <string>

#include "onnx/import/node_reader.h"

namespace cortado::importing {

/// Converts one node to layers, or folds it. Throws Error about the node, or FieldError like layers.
using Importer = void (*)(NodeReader& node);
using Table = std::map<std::string, Importer>;

/// The import function of an operator, or null.
Importer importer_of(const std::string& op);
/// The function that folds an operator with constant inputs, or null.
Importer folder_of_op(const std::string& op);

/// The supported operators, in alphabetical order.
std::string operators();

// One function per family.
void add_activations(Table& table);
void add_arithmetic(Table& table);
void add_convolutions(Table& table);
void add_poolings(Table& table);
void add_norms(Table& table);
void add_products(Table& table);
void add_shapes(Table& table);
void add_comparisons(Table& table);
void add_pads(Table& table);
void add_einsum(Table& table);
void add_slices(Table& table);
void add_resizing(Table& table);
void add_reductions(Table& table);
void add_recurrent(Table& table);
void add_unrolled(Table& table);
void add_value_folding(Table& table);
void add_folding(Table& table);
void add_shape_folding(Table& table);

}  // namespace cortado::importing
