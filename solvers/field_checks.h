#pragma once

// Helpers for checking a solver's fields.

#include <string>
#include <vector>

namespace cortado {

/// Throws FieldError if `wrong`.
void refuse_if(bool wrong, const std::string& field, const std::string& message, const std::string& hint = {});

/// Throws FieldError unless 0 <= value < 1, except for what is not finite: the solver is refused for that already.
void check_fraction(const char* field, float value);

/// Throws FieldError "unknown `what` 'value'" if `value` is not in `known`. `what` defaults to the field. The hint is a
/// similar known value or else `hint`.
void check_known(const char* field, const std::string& value, const std::vector<std::string>& known,
                 const std::string& hint, const char* what = nullptr);

}  // namespace cortado
