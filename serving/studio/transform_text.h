#pragma once

#include <string>

#include "studio/request.h"

namespace cortado::studio {

/// What a data layer says of the changes that the page offers: "transform_param { ... }\n", "" where there are none.
/// Members are "crop_size", "flip_h", "rotate", ...: numbers, of which 0 is none. Throws RequestError(kInvalid) for
/// others.
std::string transform_text(const Json& wanted);

}  // namespace cortado::studio
