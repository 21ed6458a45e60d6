#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "proto/text/positions.h"

namespace cortado {

/// One field on the path to a value; `element` is the text in the brackets after it.
struct OverrideStep {
  std::string name, element;
  bool has_element = false;
  Position position, element_position;
};

/// The parts of "net.layer[conv1].bottom[0]=data". Offsets are into the input.
struct OverridePath {
  std::string root;
  std::vector<OverrideStep> steps;  ///< at least one
  bool appends = false;             ///< with +=
  size_t last_name = 0;             ///< offset of the last step's name
  size_t value = 0, end = 0;        ///< offsets of the value
  Position value_position;
};

/// Parses the override at [begin, end) of `text`. Throws Error(kUsage), with its place by `places`.
OverridePath read_override_path(std::string_view text, size_t begin, size_t end, int line, const Positions& places);

}  // namespace cortado
