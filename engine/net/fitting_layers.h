#pragma once

#include "net/net.h"

namespace cortado {

/// The number of layers of the file, from the first on, whose shapes fit, and whose weights have the shapes of those of
/// `weights_of`, a net with layers of the same names. Throws Error like graph::build().
size_t fitting_layers(std::shared_ptr<const NetFile> file, const graph::BuildOptions& options, const Net& weights_of);

}  // namespace cortado
