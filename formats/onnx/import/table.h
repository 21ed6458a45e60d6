#pragma once

// Which function reads which operator. Each family of operators fills in its own.

#include <map>
#include <string>

#include "onnx/import/node_reader.h"

namespace cortado::importing {

/// Makes layers of one node, or works its result out. Throws Error about the node, or FieldError as layers do.
using Importer = void (*)(NodeReader& node);
using Table = std::map<std::string, Importer>;

/// The function of an operator; null where there is none.
Importer importer_of(const std::string& op);
/// Of operators whose inputs are all known: works the result out. Null where that is not done.
Importer folder_of_op(const std::string& op);

/// The names of the operators that can be read, in alphabetical order.
std::string operators();

// The families.
void add_activations(Table& table);
void add_arithmetic(Table& table);
void add_convolutions(Table& table);
void add_poolings(Table& table);
void add_norms(Table& table);
void add_products(Table& table);
void add_shapes(Table& table);
void add_slices(Table& table);
void add_resizing(Table& table);
void add_reductions(Table& table);
void add_recurrent(Table& table);
void add_folding(Table& table);
void add_shape_folding(Table& table);

}  // namespace cortado::importing
