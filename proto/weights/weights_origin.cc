#include "proto/weights/weights_origin.h"

namespace cortado {

std::string name_of(Dialect dialect) {
  switch (dialect) {
    case Dialect::kNvidia:
      return "NVIDIA";
    case Dialect::kIntel:
      return "Intel";
    case Dialect::kBvlc:
      break;
  }
  return "BVLC";
}

std::string WeightsOrigin::str() const {
  std::string text = container == kSafetensors ? "safetensors"
                     : container == kHdf5      ? "HDF5"
                     : container == kNpz       ? "NumPy arrays"
                     : container == kOnnx      ? "an ONNX model"
                                               : name_of(dialect) + " dialect";
  if (year > 0) text += ", layers of " + std::to_string(year);
  if (four_extents) text += ", blobs of four extents";
  if (halves) text += ", 16-bit values";
  if (doubles) text += ", 64-bit values";
  if (batch_norm_blobs > 3) text += ", BatchNorm of " + std::to_string(batch_norm_blobs) + " blobs";
  return text;
}

}  // namespace cortado
