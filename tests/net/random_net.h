#pragma once

// Small nets drawn from a seed, for comparisons with ReferenceNet. They contain what graphs get wrong: values with
// several readers, bottoms that repeat, layers in place, losses that other layers read, several losses of different
// weights, shared weights, and layers that stop or force gradients.

#include <string>
#include <vector>

#include "core/rng.h"
#include "net/net.h"
#include "tests/harness/array.h"

namespace cortado {

class RandomNet {
 public:
  explicit RandomNet(uint64_t seed);

  const caffe::NetParameter& message() const { return net_; }
  /// Of the Input layers, in order.
  const harness::Arrays& inputs() const { return inputs_; }
  const std::vector<std::string>& input_names() const { return input_names_; }

 private:
  struct Blob {
    std::string name;
    Shape shape;
    bool may_change = false;  ///< a layer may compute in place on it
  };

  size_t below(size_t n) { return size_t(random_.below(n)); }
  bool chance(double probability) { return double(random_.uniform()) < probability; }
  std::string new_name(const std::string& type) { return type + std::to_string(made_++); }
  caffe::LayerParameter& add(const std::string& type, const std::vector<size_t>& bottoms, const Shape& shape,
                             bool may_be_in_place = false);
  void add_input(const std::string& name, harness::Array values);
  size_t any_with_axes(int axes);
  std::vector<size_t> alike(size_t blob);
  void add_image_layer();
  void add_row_layer();
  void add_activation(size_t blob);
  void add_eltwise(size_t blob);
  void add_head(int number);
  void add_loss_weights();
  void add_stops();
  void set_rates();

  RandomStream random_;
  uint64_t seed_;
  caffe::NetParameter net_;
  harness::Arrays inputs_;
  std::vector<std::string> input_names_;
  std::vector<Blob> blobs_;  ///< in their latest form
  int made_ = 0;
};

}  // namespace cortado
