#pragma once

// Layer types by name. The file of a layer registers it; no central list needs an edit.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/pipeline/pipeline.h"
#include "layers/layer.h"

namespace cortado {

/// What a loss compares, for converting nets to deploy nets.
struct LossRole {
  /// The layer type that turns predictions into results: one inside the loss ("Softmax"), or one that belongs to it
  /// ("DetectionOutput"); "" if the predictions are the results.
  std::string answer = {};
  std::vector<int> judged = {0};  ///< the bottoms that are predictions; the others are targets
  int (*axis)(const caffe::LayerParameter& config) = nullptr;  ///< the axis of a Softmax; null: its default
};

/// LayerType::loss_fields of losses that only have a normalizer (common/losses/loss_normalizer.h), and of those that
/// read or refuse all.
constexpr const char* kNormalizerFields = "normalization normalize pre_fixed_normalizer";
constexpr const char* kAllLossFields =
    "ignore_label normalization normalize pre_fixed_normalizer label_smoothing class_weight weight_by_label_freqs "
    "class_weighting";

/// The role of a layer type in a net.
enum class LayerKind : uint8_t {
  kComputing,
  kData,      ///< reads batches from data
  kInput,     ///< the caller sets its tops
  kConstant,  ///< its tops come from its options or weights
  kScore,     ///< scores bottom[0]
  kInternal,  ///< only passes create it; not allowed in files
};

/// Families of similar layers: diagrams of nets have a colour for each.
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

/// What is known of a type without creating a layer.
struct LayerType {
  std::string name;              ///< as prototxt spells it
  std::string help;              ///< one line
  std::string options;           ///< the LayerParameter field it reads ("relu_param") or ""
  int min_bottoms, max_bottoms;  ///< bottoms; -1: no limit
  int min_tops, max_tops;        ///< tops
  std::unique_ptr<Layer> (*make)(const LayerOptions& options);  ///< throws FieldError
  LayerKind kind = LayerKind::kComputing;
  LayerFamily family = LayerFamily::kOther;  ///< family_of() overrides it by `loss` and `kind`
  bool stacks = false;                       ///< keeps the shape: diagrams stack it onto the layer whose top it reads
  std::string alias_of = {};                 ///< the type in whose file this one is registered; "" for most
  bool needs_whole_batch =
      false;  ///< it normalizes over the whole batch of an iteration, so shards cannot split the batch
  bool loss_by_weight = false;        ///< a layer is a loss if the file sets its loss_weight
  std::optional<LossRole> loss = {};  ///< for losses: y[0] has loss weight 1 unless the file sets it
  /// The fields of LayerParameter.loss_param that it reads or refuses, separated by blanks.
  std::string loss_fields = {};
  bool higher_is_better = false;  ///< its tops are scores of predictions that training should raise
  /// For normalizations: makes the layer use its statistics and leave them unchanged. Null: no statistics.
  void (*hold_statistics)(caffe::LayerParameter& layer) = nullptr;
  bool fillers_choose_weights = false;  ///< the presence of fillers decides which weights the layer has
  bool any_axes_of_weights = false;     ///< files may store its weights with other axes, if the count matches
  /// The hint for a file with `blobs` weights for it, which is a different number than it has; "" for no hint.
  const char* (*advice)(size_t blobs) = nullptr;
  /// For layers that read a dataset record by record; null for others.
  data::PipelineOptions (*pipeline)(const caffe::LayerParameter& layer, const data::DataOptions& options,
                                    bool read_files) = nullptr;
  /// For data layers: a layer that makes only top `top`, if its values come from the options alone. Null: none do.
  std::optional<caffe::LayerParameter> (*constant)(const caffe::LayerParameter& layer, int top) = nullptr;
  bool brings_objects = false;  ///< y[1], if present, is the objects in the images (common/ground_truth.h)
  /// For layers whose tops the caller sets: the shapes from the options. Null for others.
  std::vector<Shape> (*input_shapes)(const caffe::LayerParameter& layer) = nullptr;
  /// For layers that make batches: the fields of LayerParameter that hold the batch's size, as a number or as the first
  /// extent of shapes. Layers of kind kData that set none have `options`.batch_size.
  std::vector<std::string> batch_fields = {};
};

/// The type, or null.
const LayerType* find_layer_type(const std::string& name);
LayerKind kind_of(const std::string& type);   ///< kComputing if the type is unknown
bool reads_records(const std::string& type);  ///< whether it has a pipeline
/// Whether layers of the type read `options`, a field of LayerParameter.
bool reads_options(const std::string& type, const std::string& options);
/// Whether layers of the type read this field of loss_param.
bool reads_loss_field(const LayerType& type, const std::string& field);
LayerFamily family_of(const LayerType& type);
/// Sets the size of the batches that a layer makes. Does nothing for types without batch_fields.
void set_batch(caffe::LayerParameter& layer, int64_t batch);
/// Null if the type is unknown or not a loss.
const LossRole* find_loss_role(const std::string& type);
std::vector<const LayerType*> all_layer_types();  ///< those allowed in files, sorted by name

/// Put one at namespace scope in the layer's file: `const RegisterLayer register_relu({"ReLU", ...});` Registering a
/// name twice ends the program at its start.
struct RegisterLayer {
  explicit RegisterLayer(LayerType type);
  /// The same under another name.
  RegisterLayer(const LayerType& type, const std::string& also, const std::string& help);
};

/// The axis of losses that read softmax_param.
inline int softmax_axis(const caffe::LayerParameter& config) { return config.softmax_param().axis(); }

/// The usual `make`.
template <typename L>
std::unique_ptr<Layer> make_layer(const LayerOptions& options) {
  return std::make_unique<L>(options);
}

}  // namespace cortado
