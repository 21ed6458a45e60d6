#pragma once

// Layer types by name. A layer's own file registers it; there is no list to edit.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/pipeline/pipeline.h"
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

/// What a layer of the type is to who looks at a net.
enum class LayerKind : uint8_t {
  kComputing,
  kData,      ///< brings batches of its own
  kInput,     ///< who runs the net sets what it makes
  kConstant,  ///< makes blobs of its options or weights
  kScore,     ///< says how good bottom[0] is
  kInternal,  ///< passes make it; no file may
};

/// Layers that do alike: pictures of nets give each family a colour.
enum class LayerFamily : uint8_t {
  kData,
  kConvolution,
  kDense,
  kRecurrent,
  kPooling,
  kNorm,
  kActivation,
  kCombine,
  kLoss,
  kScore,
  kOther
};

/// What is known of a type without making one.
struct LayerType {
  std::string name;              ///< as prototxt spells it
  std::string help;              ///< one line
  std::string options;           ///< the LayerParameter field it reads ("relu_param") or ""
  int min_bottoms, max_bottoms;  ///< bottoms; -1: no limit
  int min_tops, max_tops;        ///< tops
  std::unique_ptr<Layer> (*make)(const LayerOptions& options);  ///< throws FieldError
  LayerKind kind = LayerKind::kComputing;
  LayerFamily family = LayerFamily::kOther;  ///< family_of() is told by `loss` and `kind` where those say it
  bool stacks = false;             ///< keeps the shape: pictures stack it onto the layer that makes what it reads
  std::string alias_of = {};       ///< the type in whose file this one stands; "" for most
  bool needs_whole_batch = false;  ///< it normalises over an iteration's whole batch, so that shards cannot divide it
  bool loss_by_weight = false;     ///< a layer is a loss if the file gives it a loss_weight
  std::optional<LossRole> loss = {};  ///< of losses: y[0] has loss weight 1 unless the file says otherwise
  /// Of normalisations: the layer goes by the statistics that it has, and keeps them as they are. Null: there are none.
  void (*hold_statistics)(caffe::LayerParameter& layer) = nullptr;
  bool fillers_choose_weights = false;  ///< which fillers there are says which weights the layer has
  bool any_axes_of_weights = false;  ///< files may give its weights with other axes, as long as their number is right
  /// What to do about a file that has `blobs` weights for it, which are not as many as it has; "" where nothing
  /// special.
  const char* (*advice)(size_t blobs) = nullptr;
  /// Of layers that read samples record by record; null for others.
  data::PipelineOptions (*pipeline)(const caffe::LayerParameter& layer, const data::DataOptions& options,
                                    bool read_files) = nullptr;
  bool brings_objects = false;  ///< y[1], where there is one, is the objects in the images (common/ground_truth.h)
  /// The shapes that the options give to what is set from outside; null where that is not done.
  std::vector<Shape> (*input_shapes)(const caffe::LayerParameter& layer) = nullptr;
};

/// The type, or null.
const LayerType* find_layer_type(const std::string& name);
LayerKind kind_of(const std::string& type);   ///< kComputing where the type is not known
bool reads_records(const std::string& type);  ///< whether it has a pipeline
/// Whether `options`, a field of LayerParameter, is what layers of the type are told by.
bool reads_options(const std::string& type, const std::string& options);
LayerFamily family_of(const LayerType& type);
/// Null where the type is no loss, or unknown.
const LossRole* find_loss_role(const std::string& type);
std::vector<const LayerType*> all_layer_types();  ///< that files may have, sorted by name

/// Put one at namespace scope in the layer's file: `const RegisterLayer register_relu({"ReLU", ...});`
/// Two of one name end the program as it starts.
struct RegisterLayer {
  explicit RegisterLayer(LayerType type);
  /// And the same by another name.
  RegisterLayer(const LayerType& type, const std::string& also, const std::string& help);
};

/// The axis of losses that have softmax_param.
inline int softmax_axis(const caffe::LayerParameter& config) { return config.softmax_param().axis(); }

/// The usual maker.
template <typename L>
std::unique_ptr<Layer> make_layer(const LayerOptions& options) {
  return std::make_unique<L>(options);
}

}  // namespace cortado
