#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/weights/weights_file.h"

namespace cortado {

/// The format to write weights in.
struct WeightsTarget {
  WeightsOrigin::Container container = WeightsOrigin::kCaffemodel;
  Dialect dialect = Dialect::kBvlc;
  bool halves = false;  ///< 16-bit values: only in NVIDIA's dialect, safetensors and .npz
};

/// Writes names, types and blobs atomically, so that only one blob is duplicated in memory. BatchNorms get the form of
/// the dialect: BVLC's move their scale to a layer after them, named like them with "_scale" appended; NVIDIA's hold
/// averages. Returns the digest of the file's bytes. Throws Error(kUsage) for 16-bit values if the format has none, and
/// Error(kSnapshot) beyond the 2 GiB that other programs support for a .caffemodel.
std::string write_weights_as(const WeightsTarget& target, const std::string& path, const std::string& net,
                             std::vector<LayerWeights> layers);

/// The bytes of a .caffemodel of BVLC's dialect, of any size, in pieces. BatchNorms are not converted.
using SendPiece = std::function<void(std::string_view)>;
void send_weights(const std::string& net, const std::vector<LayerWeights>& layers, const SendPiece& send);

}  // namespace cortado
