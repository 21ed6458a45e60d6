#pragma once

// What a composition sees: the layer that the dialect lacks, with its shapes and weights, and ways to add the layers
// that it becomes.

#include <map>
#include <string>
#include <vector>

#include "core/shape.h"
#include "graph/dialect/batches.h"
#include "graph/dialect/dialect.h"

namespace cortado::dialect {

struct Blob {
  std::string name;
  Shape shape;
};

class Rewriter;

/// Weights of a new layer: fixed ones, which training does not change, or the `own` ones of the layer that it replaces.
struct NewWeights {
  std::vector<BlobFile> blobs = {};
  bool own = false;
};

class Job {
 public:
  Job(Rewriter& rewriter, const caffe::LayerParameter& layer, std::vector<Blob> x, std::vector<Shape> y,
      const std::vector<BlobFile>* weights);

  const caffe::LayerParameter& layer() const { return layer_; }
  const std::vector<Blob>& bottoms() const { return x_; }
  const Blob& x(size_t i = 0) const { return x_.at(i); }
  const Shape& y() const { return y_.at(0); }
  size_t weight_count() const { return weights_ ? weights_->size() : 0; }
  bool knows_weights() const { return weights_ != nullptr; }
  /// A weight of the layer. Throws FieldError if the weights were not read, or if the file has none for it.
  const BlobFile& weight(size_t i) const;
  /// What the dialect lacks of `layer`, as fit_layer() says.
  std::string lacking(caffe::LayerParameter layer) const;
  bool has_field(std::string_view message, std::string_view field) const;  ///< whether the dialect has it

  /// Adds a layer with one top, or with several, and returns them. A layer that the dialect lacks becomes its own
  /// composition. add_own() uses the layer's own weights, which need not be known.
  Blob add(caffe::LayerParameter layer, const std::vector<Blob>& bottoms, std::vector<BlobFile> weights = {});
  Blob add_own(caffe::LayerParameter layer, const std::vector<Blob>& bottoms);
  std::vector<Blob> add_all(caffe::LayerParameter layer, const std::vector<Blob>& bottoms, int tops);

  /// The axis of a blob that grows with the batch; 0 if none is known to.
  int batch_axis(const Blob& x) const;
  const BatchOf& batch() const;

  /// Adds a Reshape. If the first extent of `shape` holds the batch, `shape` is right for the net's own batch, and the
  /// layer infers that extent. `open` is the axis to infer.
  Blob reshape(const Blob& x, const Shape& shape, int open = 0);

  /// Throws FieldError in a net with a loss, which a composition for inference only would change.
  void require_inference() const;
  [[noreturn]] void refuse(const std::string& reason, const std::string& hint = {}) const;
  void warn(const std::string& text);

 private:
  Rewriter& rewriter_;
  const caffe::LayerParameter& layer_;
  std::vector<Blob> x_;
  std::vector<Shape> y_;
  const std::vector<BlobFile>* weights_;  ///< null: not read
};

/// Adds the layers that `job` becomes; returns the blob that replaces the layer's top.
using Composition = Blob (*)(Job& job);
using Compositions = std::map<std::string, Composition>;  ///< by layer type

void add_activations(Compositions& table);
void add_layouts(Compositions& table);
void add_matmul(Compositions& table);
void add_norms(Compositions& table);
void add_poolings(Compositions& table);
void add_products(Compositions& table);
void add_rare(Compositions& table);
void add_recurrent(Compositions& table);
void add_resizings(Compositions& table);

/// Values of a new weight. Throws FieldError beyond 2^24 of them.
std::vector<float> values(const Job& job, int64_t count, float value);
BlobFile filled(const Job& job, const Shape& shape, float value);  ///< a new weight of them

// Layers that several compositions use.

caffe::LayerParameter layer_of(const std::string& type);
Blob power(Job& job, const Blob& x, float scale, float shift, float exponent = 1);  ///< (scale x + shift)^exponent
Blob unary(Job& job, const std::string& type, const Blob& x);                       ///< a layer without options
Blob product(Job& job, const std::vector<Blob>& factors);                           ///< element by element
Blob squared(Job& job, const Blob& x);  ///< without a Power, which OpenCV 4.6 merges wrongly with one after it
/// x times `factor`, whose axes are the first ones of x.
Blob scaled_rows(Job& job, const Blob& x, const Blob& factor);
/// x times a factor, plus a term unless that is null, for each element of the axes [axis, axis + those of the factor).
Blob affine(Job& job, const Blob& x, int axis, const BlobFile& factor, const BlobFile* term);
/// A matrix, outputs x inputs, along an axis other than the first.
Blob along_axis(Job& job, const Blob& x, int axis, const BlobFile& matrix);
/// x with its axes in another order, by slices. Throws FieldError if that takes too many.
Blob permuted(Job& job, const Blob& x, const std::vector<int>& order);
/// A fixed Convolution with one filter for each channel, from `filter` of h x w; `pad` and `stride` are pairs h, w.
struct FixedWindow {
  int64_t kernel[2], stride[2] = {1, 1}, pad[2] = {0, 0};
};
Blob by_channel(Job& job, const std::string& type, const Blob& x, const FixedWindow& window,
                const std::vector<float>& filter);
void set_window(caffe::ConvolutionParameter& param, const FixedWindow& window);
/// Replaces pairs of values, `stride: 2 stride: 1`, by stride_h and stride_w: some readers take the first for both.
void name_both_extents(caffe::ConvolutionParameter& param);

}  // namespace cortado::dialect
