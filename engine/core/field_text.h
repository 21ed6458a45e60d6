#pragma once

#include <string>

#include "core/error.h"

namespace cortado {

/// The message of `error` for a reader who does not see its field, because no caret is at it: begins with the field
/// ("transform_param.mean_value: there are 9, ..."), unless the message names it.
std::string with_field(const FieldError& error);

}  // namespace cortado
