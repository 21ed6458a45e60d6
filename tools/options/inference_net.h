#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/deploy.h"
#include "proto/files/read_text.h"
#include "tools/options/flags.h"

namespace cortado::tools {

/// --model, --run and --weights, for with_run(). `operands`: the command has operands of its own. Then only a run's
/// folder, or a name that ends like a net's, is taken for --model.
std::vector<Flag> trained_net_flags(bool operands);

/// A net for inference.
struct InferenceNet {
  std::shared_ptr<const NetFile> file;
  std::shared_ptr<const NetFile> trained{};  ///< the net for training that `file` was derived from; null if --model is
                                             ///< a deploy net
};

/// How the net of --model becomes a deploy net: by --phase and so on, --shape, and the shapes that its run keeps.
graph::DeployOptions deploy_options(const Arguments& arguments);

/// --model for inference, with --set. A net without inputs, such as one for training, is converted to its deploy net.
/// Throws Error.
InferenceNet open_inference_net(const Arguments& arguments);

}  // namespace cortado::tools
