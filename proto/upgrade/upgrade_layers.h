#pragma once

#include <cstdint>
#include <string>

#include "core/error.h"
#include "proto/cortado.pb.h"
#include "proto/text/positions.h"

namespace cortado {

/// Turns layers of 2013 (`layers { layer { type: "conv" ... } }`), if there are any, into those of 2014. Their padding
/// layers go into the layers that read them. `path` is where `net` stands in the file.
void upgrade_v0_layers(caffe::NetParameter& net, const std::string& path, Positions& positions, Mistakes& mistakes);

/// Turns layers of 2014 (`layers { type: CONVOLUTION blobs_lr: 1 ... }`), if there are any, into today's.
void upgrade_v1_layers(caffe::NetParameter& net, const std::string& path, Positions& positions, Mistakes& mistakes);

/// Today's name of a type: of the number of 2014, of the word of 2013. An unknown one is returned as it is.
std::string type_of_2014(uint64_t number);
std::string type_of_2013(const std::string& word);

}  // namespace cortado
