#pragma once

#include "core/context.h"
#include "tools/options/flags.h"

namespace cortado::tools {

Flag decode_flag();  ///< --decode, for commands that read data

/// Asks for the decoder that --decode names. Throws Error(kUsage) for the GPU's on the CPU.
void choose_decoder(const Arguments& arguments, Context& context);

}  // namespace cortado::tools
