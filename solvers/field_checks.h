#pragma once

// What checks of a solver's fields have in common.

#include <string>
#include <vector>

namespace cortado {

/// Throws FieldError where it is `wrong`.
void refuse_if(bool wrong, const std::string& field, const std::string& message, const std::string& hint = {});

/// Throws FieldError unless 0 <= value < 1.
void check_fraction(const char* field, float value);

/// Throws FieldError where `value` is none of `known`: "unknown `what` 'value'", `what` being the field unless it is
/// given, with a guess at what was meant or else `hint`.
void check_known(const char* field, const std::string& value, const std::vector<std::string>& known,
                 const std::string& hint, const char* what = nullptr);

}  // namespace cortado
