// Converts BatchNorm between dialects: it is one layer in all of them, but in BVLC's a Scale layer follows it.
//
// All store mean, variance and one more number. BVLC and Intel store sums and their divisor; NVIDIA stores averages,
// and a 1 that it does not read, so the same division is right for all. Variances are not converted: BVLC's and Intel's
// are unbiased, NVIDIA's are not, but in testing each divides by the root of the stored one. Files of old versions of
// DIGITS have scale and bias first: their blob of one value is the last.
#include "proto/weights/batch_norm_form.h"

#include <algorithm>
#include <set>

namespace cortado {

namespace {

constexpr size_t kFactor = 2, kGamma = 3;

bool all_are(const BlobFile& blob, float value) {
  return std::all_of(blob.data.begin(), blob.data.end(), [=](float v) { return v == value; });
}

BlobFile filled(const BlobFile& like, float value) { return {like.shape, std::vector<float>(like.data.size(), value)}; }

bool has_no_axes_but_one(const Shape& shape) {
  int axes = 0;
  for (const int64_t dim : shape.dims()) axes += dim != 1;
  return axes <= 1;
}

/// y = gamma[c] x + beta[c]
struct Affine {
  BlobFile gamma, beta;
};

/// y = outer(inner(x))
Affine compose(const Affine& inner, const Affine& outer) {
  Affine both = inner;
  for (size_t c = 0; c < both.gamma.data.size(); ++c) {
    both.gamma.data[c] = inner.gamma.data[c] * outer.gamma.data[c];
    both.beta.data[c] = inner.beta.data[c] * outer.gamma.data[c] + outer.beta.data[c];
  }
  return both;
}

/// Reads scale and shift from blobs `first` and later; false if they are not one or two blobs of `channels` values.
bool take_affine(const LayerWeights& layer, size_t first, const BlobFile& channels, Affine& affine) {
  const size_t count = layer.blobs.size() - first;
  if (layer.blobs.size() <= first || count > 2) return false;
  for (size_t k = first; k < layer.blobs.size(); ++k)
    if (layer.blobs[k].data.size() != channels.data.size()) return false;
  affine.gamma = layer.blobs[first];
  affine.beta = count == 2 ? layer.blobs[first + 1] : filled(channels, 0);
  affine.gamma.shape = affine.beta.shape = channels.shape;
  return true;
}

/// The Scale layer that is the only reader of layer `norm` of `net`, or null.
const caffe::LayerParameter* scale_behind(const std::vector<const caffe::LayerParameter*>& net, size_t norm) {
  if (net[norm]->top_size() != 1) return nullptr;
  const std::string& blob = net[norm]->top(0);
  const caffe::LayerParameter* scale = nullptr;
  for (size_t i = norm + 1; i < net.size(); ++i) {
    const auto& bottoms = net[i]->bottom();
    const auto& tops = net[i]->top();
    if (std::find(bottoms.begin(), bottoms.end(), blob) != bottoms.end()) {
      if (scale || net[i]->type() != "Scale" || net[i]->bottom_size() != 1) return nullptr;
      scale = net[i];
    }
    if (std::find(tops.begin(), tops.end(), blob) != tops.end()) break;
  }
  return scale;
}

class Fit {
 public:
  Fit(const std::vector<const caffe::LayerParameter*>& net, const std::vector<LayerWeights>& file) : net_(net) {
    for (const auto* layer : net) names_.insert(layer->name());
    for (const LayerWeights& layer : file) fitted_.layers.push_back(&layer);
  }

  FittedWeights run() {
    for (size_t i = 0; i < net_.size(); ++i)
      if (net_[i]->type() == "BatchNorm") fit(i);
    std::erase(fitted_.layers, nullptr);
    return std::move(fitted_);
  }

 private:
  size_t find(const std::string& name) const {
    for (size_t i = 0; i < fitted_.layers.size(); ++i)
      if (fitted_.layers[i] && fitted_.layers[i]->name == name) return i;
    return fitted_.layers.size();
  }

  void fit(size_t norm) {
    const BatchNormForm wanted = form_of(net_[norm]->batch_norm_param());
    const size_t at = find(net_[norm]->name());
    if (at == fitted_.layers.size()) return;
    if (fitted_.layers[at]->type.empty()) {  // its type was unknown so far
      LayerWeights typed = *fitted_.layers[at];
      typed.type = "BatchNorm";
      normalize_bn_blobs(typed);
      put(at, std::move(typed));
    }
    const LayerWeights& have = *fitted_.layers[at];
    const size_t blobs = 3u + wanted.scales + wanted.shifts;
    if (have.blobs.size() < 3 || have.blobs.size() > 5 || have.blobs.size() == blobs) return;
    if (!wanted.scales) return move_out(at, scale_behind(net_, norm));
    take_in(at, wanted);
  }

  /// The file's BatchNorm has a scale, the net's does not.
  void move_out(size_t at, const caffe::LayerParameter* behind) {
    const LayerWeights& have = *fitted_.layers[at];
    Affine own, all;
    if (!take_affine(have, kGamma, have.blobs[0], own)) return;
    all = own;
    const bool moves = !all_are(own.gamma, 1) || !all_are(own.beta, 0);
    if (moves) {
      if (behind == nullptr) return;
      const size_t scale = find(behind->name());
      Affine theirs;
      if (scale < fitted_.layers.size()) {
        if (!take_affine(*fitted_.layers[scale], 0, own.gamma, theirs)) return;
        all = compose(own, theirs);
      }
      if (!behind->scale_param().bias_term() && !all_are(all.beta, 0)) return;
      LayerWeights made{behind->name(), "Scale", {all.gamma}};
      if (behind->scale_param().bias_term()) made.blobs.push_back(all.beta);
      put(scale, std::move(made));
    }
    LayerWeights bare{have.name, have.type, {have.blobs.begin(), have.blobs.begin() + kGamma}};
    fitted_.converted.push_back(have.name + (moves ? ": its scale goes to " + behind->name() : ": its scale is 1"));
    put(at, std::move(bare));
  }

  /// The net's BatchNorm has a scale, the file's does not, or has no bias.
  void take_in(size_t at, const BatchNormForm& wanted) {
    LayerWeights made = *fitted_.layers[at];
    Affine affine{filled(made.blobs[0], 1), filled(made.blobs[0], 0)};
    std::string from = "a scale of 1 is added";
    size_t partner = fitted_.layers.size();
    if (made.blobs.size() > kGamma) {
      if (!take_affine(made, kGamma, made.blobs[0], affine)) return;
      from = "a bias of 0 is added or left out";
    } else if (partner = scale_in_file(at); partner < fitted_.layers.size()) {
      if (!take_affine(*fitted_.layers[partner], 0, made.blobs[0], affine)) return;
      from = "it takes the scale of " + fitted_.layers[partner]->name;
    }
    if (!wanted.shifts && !all_are(affine.beta, 0)) return;
    made.blobs.resize(kGamma);
    made.blobs.push_back(affine.gamma);
    if (wanted.shifts) made.blobs.push_back(affine.beta);
    fitted_.converted.push_back(made.name + ": " + from);
    if (partner < fitted_.layers.size()) fitted_.layers[partner] = nullptr;
    put(at, std::move(made));
  }

  /// The Scale layer right after the BatchNorm in the file, if the net has no layer of its name. In a file without
  /// types, a layer with the shapes of a Scale.
  size_t scale_in_file(size_t at) const {
    const size_t none = fitted_.layers.size();
    if (at + 1 >= none || fitted_.layers[at + 1] == nullptr) return none;
    const LayerWeights& next = *fitted_.layers[at + 1];
    Affine shaped;
    const bool scales =
        next.type == "Scale" || (next.type.empty() && take_affine(next, 0, fitted_.layers[at]->blobs[0], shaped));
    return scales && !names_.contains(next.name) ? at + 1 : none;
  }

  void put(size_t at, LayerWeights layer) {
    fitted_.made.push_back(std::move(layer));
    if (at < fitted_.layers.size())
      fitted_.layers[at] = &fitted_.made.back();
    else
      fitted_.layers.push_back(&fitted_.made.back());
  }

  const std::vector<const caffe::LayerParameter*>& net_;
  std::set<std::string> names_;
  FittedWeights fitted_;
};

}  // namespace

BatchNormForm form_of(const caffe::BatchNormParameter& options) {
  BatchNormForm form;
  const bool intel = options.has_use_weight_bias() || options.has_bias_term() || options.has_filler();
  if (intel) {
    form.scales = options.use_weight_bias();
    form.shifts = form.scales && options.bias_term();
  }
  if (options.scale_bias() || options.has_scale_filler() || (options.has_bias_filler() && !intel))
    form.scales = form.shifts = true;
  form.nvidia =
      !intel && (form.scales || options.has_scale_bias() || options.engine() == caffe::BatchNormParameter::CUDNN);
  form.eps = form.nvidia ? std::max(options.eps(), 1e-5f) : options.eps();
  return form;
}

void normalize_bn_blobs(LayerWeights& layer) {
  auto& blobs = layer.blobs;
  if (layer.type != "BatchNorm" || blobs.size() < 3 || blobs.size() > 5) return;
  if (blobs.size() == 5 && blobs[4].data.size() == 1 && blobs[2].data.size() != 1)
    blobs = {std::move(blobs[2]), std::move(blobs[3]), std::move(blobs[4]), std::move(blobs[0]), std::move(blobs[1])};
  for (size_t k = 0; k < blobs.size(); ++k)
    if (has_no_axes_but_one(blobs[k].shape)) blobs[k].shape = {blobs[k].shape.count()};
  if (blobs[kFactor].data.size() != 1 || blobs[kFactor].data[0] != 0) return;
  // NVIDIA does not read its 1, so any value there means that the statistics are valid.
  if (!all_are(blobs[0], 0) || !all_are(blobs[1], 0)) blobs[kFactor].data[0] = 1;
}

void divide_by_factor(LayerWeights& layer) {
  const float factor = layer.blobs[kFactor].data.empty() ? 1 : layer.blobs[kFactor].data[0];
  if (factor != 0 && factor != 1)
    for (size_t k = 0; k < kFactor; ++k)
      for (float& value : layer.blobs[k].data) value *= 1 / factor;  // as the layer computes it, bit for bit
  for (float& value : layer.blobs[kFactor].data) value = 1;
}

FittedWeights fit_batch_norms(const std::vector<const caffe::LayerParameter*>& net,
                              const std::vector<LayerWeights>& file) {
  return Fit(net, file).run();
}

std::vector<LayerWeights> split_batch_norm(const LayerWeights& layer, const std::string& scale) {
  std::vector<LayerWeights> pair(2);
  pair[0] = {layer.name, layer.type, {layer.blobs.begin(), layer.blobs.begin() + kGamma}};
  pair[1] = {scale, "Scale", {layer.blobs.begin() + kGamma, layer.blobs.end()}};
  return pair;
}

}  // namespace cortado
