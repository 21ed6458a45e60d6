#pragma once

#include <string>

#include "proto/cortado.pb.h"

namespace cortado::tools {

/// The type and its most important options: "Convolution 7×7, 64, /2", "Pooling max 3×3, /2". UTF-8.
std::string caption_of(const caffe::LayerParameter& layer);

/// All options that the file sets as prototxt, one message a line, without weights.
std::string options_text(const caffe::LayerParameter& layer);

}  // namespace cortado::tools
