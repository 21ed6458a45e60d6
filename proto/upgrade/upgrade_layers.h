#pragma once

#include <cstdint>
#include <string>

#include "core/error.h"
#include "proto/cortado.pb.h"
#include "proto/text/positions.h"

namespace cortado {

/// Converts layers of 2013 (`layers { layer { type: "conv" ... } }`), if any, to those of 2014. Their padding layers
/// are merged into the layers that read them. `path` is the path of `net` in the file.
void upgrade_v0_layers(caffe::NetParameter& net, const std::string& path, Positions& positions, Mistakes& mistakes);

/// Converts layers of 2014 (`layers { type: CONVOLUTION blobs_lr: 1 ... }`), if any, to the current format.
void upgrade_v1_layers(caffe::NetParameter& net, const std::string& path, Positions& positions, Mistakes& mistakes);

/// The current name of a type: of a number of 2014, of a name of 2013. Unknown ones are returned unchanged.
std::string type_of_2014(uint64_t number);
std::string type_of_2013(const std::string& word);

}  // namespace cortado
