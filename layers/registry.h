#pragma once

// Layer types by name. A layer's own file registers it; there is no list to edit.

#include <memory>
#include <string>
#include <vector>

#include "layers/layer.h"

namespace cortado {

/// What is known of a type without making one.
struct LayerType {
  std::string name;              ///< as prototxt spells it
  std::string help;              ///< one line
  std::string options;           ///< the LayerParameter field it reads ("relu_param") or ""
  int min_bottoms, max_bottoms;  ///< bottoms; -1: no limit
  int min_tops, max_tops;        ///< tops
  std::unique_ptr<Layer> (*make)(const LayerOptions& options);  ///< throws FieldError
};

/// The type, or null.
const LayerType* find_layer_type(const std::string& name);
std::vector<const LayerType*> all_layer_types();  ///< sorted by name

/// Put one at namespace scope in the layer's file: `const RegisterLayer register_relu({"ReLU", ...});`
struct RegisterLayer {
  explicit RegisterLayer(LayerType type);
};

/// The usual maker.
template <typename L>
std::unique_ptr<Layer> make_layer(const LayerOptions& options) {
  return std::make_unique<L>(options);
}

}  // namespace cortado
