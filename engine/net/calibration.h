#pragma once

// Scales for 8-bit integers, found by looking at a trained net at work: which of its layers may compute on integers,
// and how large their operands, results and weights become.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "net/net.h"
#include "net/value_range.h"

namespace cortado {

/// A layer that may compute on integers, and what it is made of once the net is frozen.
struct QuantizableLayer {
  std::string name;                                   ///< the layer's
  std::string node;                                   ///< the graph's node that it becomes, with what that takes over
  bool x_is_unsigned = false, y_is_unsigned = false;  ///< cannot be negative
  bool first = false, last = false;                   ///< of the layers with weights
};

/// Those of the net in the state of `options`, in its order, whatever their quantization_param says.
std::vector<QuantizableLayer> quantizable_layers(const NetFile& file, graph::BuildOptions options);

/// The net without any scales, and with those of `layers` (by name) alone.
std::shared_ptr<const NetFile> without_scales(const NetFile& file);
std::shared_ptr<const NetFile> with_scales(const NetFile& file,
                                           const std::map<std::string, caffe::QuantizationParameter>& layers);

/// Watches a frozen net that computes on floats.
class Calibration {
 public:
  Calibration(Net& net, std::vector<QuantizableLayer> layers);

  void run_batch();  ///< one forward pass
  /// The quantization_param of each layer by name, from what was seen so far. A layer without any weight or value other
  /// than 0 gets none.
  std::map<std::string, caffe::QuantizationParameter> scales(const RangeRule& rule) const;

 private:
  struct Watched {
    QuantizableLayer layer;
    graph::ValueId x, y;
    std::vector<float> largest_weights;  ///< of each output, folded
  };
  const graph::Node& node_named(const std::string& name) const;
  std::vector<float> largest_weights(const graph::Node& node);

  Net& net_;
  std::vector<Watched> layers_;
  std::map<graph::ValueId, ValueRange> ranges_;
  std::vector<float> values_;
};

}  // namespace cortado
