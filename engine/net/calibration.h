#pragma once

// Scales for 8-bit integers, calibrated on a trained net: which of its layers can compute on integers, and the ranges
// of their operands, results and weights.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "net/net.h"
#include "net/value_range.h"

namespace cortado {

/// A layer that can compute on integers, and its node in the frozen net.
struct QuantizableLayer {
  std::string name;  ///< of the layer
  std::string node;  ///< of the graph's node that runs it, with the layers merged into it
  bool x_is_unsigned = false, y_is_unsigned = false;  ///< cannot be negative
  bool last = false;                                  ///< of the layers with weights
};

/// Those of the net in the state of `options`, in the net's order, independent of their quantization_param.
std::vector<QuantizableLayer> quantizable_layers(const NetFile& file, graph::BuildOptions options);

/// The net without scales, and the net with only those of `layers` (by name).
std::shared_ptr<const NetFile> without_scales(const NetFile& file);
std::shared_ptr<const NetFile> with_scales(const NetFile& file,
                                           const std::map<std::string, caffe::QuantizationParameter>& layers);

/// Collects value ranges of a frozen net that computes on floats.
class Calibration {
 public:
  Calibration(Net& net, std::vector<QuantizableLayer> layers);

  void run_batch();  ///< one forward pass
  /// The quantization_param of each layer by name, from the batches so far. Skips layers whose weights or values are
  /// all 0.
  std::map<std::string, caffe::QuantizationParameter> scales(const RangeRule& rule) const;

 private:
  struct Watched {
    QuantizableLayer layer;
    graph::ValueId x, y;
    std::vector<float> largest_weights;  ///< per output, folded
  };
  const graph::Node& node_named(const std::string& name) const;
  std::vector<float> largest_weights(const graph::Node& node);

  Net& net_;
  std::vector<Watched> layers_;
  std::map<graph::ValueId, ValueRange> ranges_;
  std::vector<float> values_;
};

}  // namespace cortado
