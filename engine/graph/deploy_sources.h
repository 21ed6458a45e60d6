#pragma once

// The layers without bottoms of a deploy net: Input layers in place of data layers, and constants.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/shape.h"
#include "proto/files/read_text.h"

namespace cortado::graph {

/// A DummyData layer that makes only top `k` of the layer, if the values come from the layer's options alone.
std::optional<caffe::LayerParameter> constant_of(const caffe::LayerParameter& layer, int k);

class DeploySources {
 public:
  using Shapes = std::map<std::string, Shape>;
  /// `shapes` and `trained` of inputs, as in DeployOptions.
  DeploySources(const NetFile& file, const Shapes& shapes, const Shapes& trained)
      : file_(file), shapes_(shapes), trained_(trained) {}

  /// Notes that the net needs `top` of the file's layer `index`, a data or Input layer. First for all tops.
  void need(int index, const std::string& top);
  /// Adds the layer that makes such a top of a data layer: a constant if its values come from the options alone and the
  /// net has an input without it, else an Input layer.
  void add_for_data(int index, const std::string& top, caffe::NetParameter& net);
  /// Adds an Input layer of the file.
  void add_input_layer(caffe::LayerParameter layer, caffe::NetParameter& net);
  /// Sets the rows of constants that have as many as a batch to those of the new batch. Throws Error(kUsage) for a
  /// shape of a blob that is not an input.
  void finish(caffe::NetParameter& net);

  const std::vector<std::string>& inputs() const { return inputs_; }

 private:
  const Shape* given_shape(const std::string& top) const;
  Shape shape_of(int index, const std::string& top) const;
  std::string free_name(int index, const std::string& top) const;

  const NetFile& file_;
  const Shapes &shapes_, &trained_;
  bool has_input_ = false;  ///< one that is not a constant
  std::map<std::pair<int, std::string>, caffe::LayerParameter> constants_;
  std::set<int> added_constants_;       ///< indices into the deploy net
  std::map<int64_t, int64_t> batches_;  ///< rows of the file's inputs: those of the deploy net's
  std::vector<std::string> inputs_;
};

}  // namespace cortado::graph
