#pragma once

// A net in double precision, computed layer by layer from its message, without a graph, a plan or gradients.
// Derivatives are differences of losses.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "net/net.h"
#include "tests/harness/array.h"

namespace cortado {

class ReferenceNet {
 public:
  /// What one layer writes to a blob: layers that compute in place make several of one name.
  struct Value {
    std::string blob;
    size_t layer;
    double loss_weight = 0;
    bool learns = false;   ///< depends on a weight that learns, or is forced to have a gradient
    bool reached = false;  ///< by the gradient of a loss, or by zeros where an observer may set it
  };

  /// A weight blob, and where layers list it.
  struct Weight {
    std::vector<std::pair<std::string, int>> users;  ///< name of the layer, index of its blob
    bool learned = true;                             ///< by gradients; false: statistics
    float lr_mult = 1, decay_mult = 1;
    harness::Array values = {};
    bool learns() const { return learned && lr_mult != 0; }
    std::string name() const { return users[0].first + "[" + std::to_string(users[0].second) + "]"; }
  };

  /// `shaped`: a net of the same file and phase, from which only the shapes of weights are taken.
  ReferenceNet(const caffe::NetParameter& message, const Net& shaped, caffe::Phase phase);

  std::vector<Weight>& weights() { return weights_; }
  const std::vector<Value>& values() const { return values_; }
  /// The arrays of the Input layers, in order.
  void run(const harness::Arrays& inputs);

  double loss() const { return loss_of(base_); }
  const harness::Array& array(size_t value) const { return base_[value]; }
  /// The last value of that blob.
  size_t last(const std::string& blob) const;

  /// The derivative of the loss along `direction`; none at a kink.
  std::optional<double> slope_of_value(size_t value, const harness::Array& direction) const;
  std::optional<double> slope_of_weight(size_t weight, const harness::Array& direction);

 private:
  struct Layer {
    caffe::LayerParameter config;
    std::vector<size_t> x, y, w;
  };

  void add_layer(const caffe::LayerParameter& config, const Net& shaped);
  void add_weights(Layer& layer, const Net& shaped);
  void mark_learning(bool all);
  void mark_reached(bool all);
  void compute(size_t first, harness::Arrays& arrays, bool stops) const;
  double loss_of(const harness::Arrays& arrays) const;
  std::optional<double> slope(const std::function<double(double step)>& loss_at) const;

  caffe::Phase phase_;
  std::vector<Layer> layers_;
  std::vector<Value> values_;
  std::vector<Weight> weights_;
  harness::Arrays inputs_, base_;
};

/// Sum of products.
double dot(const harness::Array& a, const harness::Array& b);

}  // namespace cortado
