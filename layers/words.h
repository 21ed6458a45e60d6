#pragma once

// Numbers as they stand in messages.

#include <cstdint>
#include <string>

namespace cortado {

/// "1 axis", "3 axes".
std::string count_of(int64_t number, const std::string& singular, const std::string& plural);

/// A float as people write it: "0.5", "12", "nan".
std::string text_of(float value);

}  // namespace cortado
