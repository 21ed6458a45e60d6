#pragma once

// The tables of dialects (table.cc): what each fork of Caffe has.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/dialect/dialect.h"

namespace cortado::dialect {

/// Names that some dialects have: layer types, fields of the message `owner`, or values of the enum `owner`.
struct Row {
  std::string_view owner;
  unsigned dialects;  ///< a sum of Targets
  std::string_view names;
};

bool has_type(Target target, std::string_view type);
/// `message` without its package: "PoolingParameter".
bool has_field(Target target, std::string_view message, std::string_view field);
/// `type` is an enum: "PoolingParameter.PoolMethod".
bool has_value(Target target, std::string_view type, std::string_view value);
/// Whether the field selects implementations only.
bool is_without_effect(std::string_view message, std::string_view field);
/// Whether layers of the type need bottoms of four axes.
bool needs_images(std::string_view type);

/// All dialects with the names that flags have for them.
const std::vector<std::pair<std::string, Target>>& all_targets();

}  // namespace cortado::dialect
