#include "solvers/field_checks.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/text/text.h"

namespace cortado {

void refuse_if(bool wrong, const std::string& field, const std::string& message, const std::string& hint) {
  if (wrong) throw FieldError(field, message, hint);
}

void check_fraction(const char* field, float value) {
  refuse_if(std::isfinite(value) && !(value >= 0 && value < 1), field,
            std::string(field) + " is " + to_text(value) + ", but must be at least 0 and less than 1");
}

void check_known(const char* field, const std::string& value, const std::vector<std::string>& known,
                 const std::string& hint, const char* what) {
  if (std::find(known.begin(), known.end(), value) != known.end()) return;
  const std::string guess = did_you_mean(value, known);
  throw FieldError(field, "unknown " + std::string(what ? what : field) + " '" + value + "'",
                   guess.empty() ? hint : guess);
}

}  // namespace cortado
