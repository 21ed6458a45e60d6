#pragma once

#include "tools/options/flags.h"

namespace cortado::tools {

Flag skip_bad_flag();  ///< --skip-bad, for commands that read datasets

/// To be called before any net or pipeline is made.
void heed_skip_bad(const Arguments& arguments);

}  // namespace cortado::tools
