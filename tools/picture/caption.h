#pragma once

#include <string>

#include "proto/cortado.pb.h"

namespace cortado::tools {

/// The type and what is most worth knowing of its options: "Convolution 7×7, 64, /2", "Pooling max 3×3, /2". UTF-8.
std::string caption_of(const caffe::LayerParameter& layer);

/// Every option that the file sets, one message a line, as prototxt; weights are left out.
std::string options_text(const caffe::LayerParameter& layer);

}  // namespace cortado::tools
