#pragma once

#include <memory>
#include <string>
#include <vector>

#include "proto/files/read_text.h"
#include "tools/options/flags.h"

namespace cortado::tools {

/// --model, --run and --weights, for with_run(). Where `operands` of the command's own follow, only words that end as
/// nets' names do, and runs' folders, are taken for --model.
std::vector<Flag> trained_net_flags(bool operands);

/// --model for inference, with --set. A net without inputs, as one for training, is turned into its deploy net. Throws
/// Error.
std::shared_ptr<const NetFile> open_inference_net(const Arguments& arguments);

}  // namespace cortado::tools
