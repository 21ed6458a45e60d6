#pragma once

// Numbers as they stand in messages.

#include <cstdint>
#include <string>

namespace cortado {

/// The path of one entry of a repeated field: "bottom[1]".
std::string entry(const std::string& field, int64_t index);

/// Where to point when a repeated field has `have` entries and should have `wanted`: the first that is too many, or the
/// first.
std::string miscounted(const std::string& field, int64_t have, int64_t wanted);

/// "1 axis", "3 axes".
std::string count_of(int64_t number, const std::string& singular, const std::string& plural);

/// A float as it is usually written: "0.5", "12", "nan".
std::string to_text(float value);

}  // namespace cortado
