#pragma once

// Layer types by name. A layer's own file registers it; there is no list to edit.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "layers/layer.h"

namespace cortado {

/// What a loss compares, for nets that predict instead of learning.
struct LossRole {
  /// The type of layer that makes answers of the predictions: one that the loss has within itself ("Softmax"), or one
  /// that belongs to it ("DetectionOutput"); "" where predictions are answers.
  std::string answer = {};
  std::vector<int> judged = {0};  ///< the bottoms that are predictions; the others are what they should be
  int (*axis)(const caffe::LayerParameter& config) = nullptr;  ///< of a Softmax; null: its own default
};

/// What is known of a type without making one.
struct LayerType {
  std::string name;              ///< as prototxt spells it
  std::string help;              ///< one line
  std::string options;           ///< the LayerParameter field it reads ("relu_param") or ""
  int min_bottoms, max_bottoms;  ///< bottoms; -1: no limit
  int min_tops, max_tops;        ///< tops
  std::unique_ptr<Layer> (*make)(const LayerOptions& options);  ///< throws FieldError
  bool needs_whole_batch = false;  ///< it normalises over an iteration's whole batch, so that shards cannot divide it
  std::optional<LossRole> loss = {};  ///< of losses: y[0] has loss weight 1 unless the file says otherwise
};

/// The type, or null.
const LayerType* find_layer_type(const std::string& name);
/// Null where the type is no loss, or unknown.
const LossRole* find_loss_role(const std::string& type);
std::vector<const LayerType*> all_layer_types();  ///< sorted by name

/// Put one at namespace scope in the layer's file: `const RegisterLayer register_relu({"ReLU", ...});`
struct RegisterLayer {
  explicit RegisterLayer(LayerType type);
};

/// The axis of losses that have softmax_param.
inline int softmax_axis(const caffe::LayerParameter& config) { return config.softmax_param().axis(); }

/// The usual maker.
template <typename L>
std::unique_ptr<Layer> make_layer(const LayerOptions& options) {
  return std::make_unique<L>(options);
}

}  // namespace cortado
