#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/weights/weights_file.h"

namespace cortado {

/// How weights are to be written.
struct WeightsTarget {
  WeightsOrigin::Container container = WeightsOrigin::kCaffemodel;
  Dialect dialect = Dialect::kBvlc;
  bool halves = false;  ///< 16-bit values: NVIDIA's dialect, safetensors and .npz only
};

/// Writes names, types and blobs, so that only one blob's bytes lie in memory twice; atomically. BatchNorms take the
/// form of the dialect: BVLC's leave their scale to a layer behind them, named as they are with "_scale" at the end;
/// NVIDIA's hold averages. Returns the digest of the file's bytes. Throws Error(kUsage) for 16-bit values where there
/// are none, and Error(kSnapshot) past the 2 GiB that other programs read of a .caffemodel.
std::string write_weights_as(const WeightsTarget& target, const std::string& path, const std::string& net,
                             std::vector<LayerWeights> layers);

/// The bytes of a .caffemodel of BVLC's dialect, of any size, piece by piece. BatchNorms stay as they are.
using SendPiece = std::function<void(std::string_view)>;
void send_weights(const std::string& net, const std::vector<LayerWeights>& layers, const SendPiece& send);

}  // namespace cortado
