#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "proto/text/positions.h"

namespace cortado {

/// One field on the way to a value; `element` is what brackets behind it hold.
struct OverrideStep {
  std::string name, element;
  bool has_element = false;
  Position position, element_position;
};

/// "net.layer[conv1].bottom[0]=data" taken apart. Offsets are into the text that was given.
struct OverridePath {
  std::string root;
  std::vector<OverrideStep> steps;  ///< at least one
  bool appends = false;             ///< by +=
  size_t last_name = 0;             ///< where the last step's name begins
  size_t value = 0, end = 0;        ///< where the value is
  Position value_position;
};

/// Reads the override that begins at `begin` and ends before `end` of `text`. Throws Error(kUsage), with the place
/// among `places`.
OverridePath read_override_path(std::string_view text, size_t begin, size_t end, int line, const Positions& places);

}  // namespace cortado
