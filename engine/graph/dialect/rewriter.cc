#include "graph/dialect/rewriter.h"

#include <algorithm>
#include <cctype>

#include "core/field_text.h"
#include "graph/dialect/fit.h"
#include "graph/dialect/rare.h"
#include "graph/dialect/table.h"
#include "graph/infer_layer.h"
#include "layers/registry.h"

namespace cortado::dialect {

namespace {

constexpr int kMaxNewLayers = 100'000, kMaxMistakes = 50;
constexpr int64_t kMaxValues = int64_t(1) << 28;  ///< of all new weights

const Compositions& all_compositions() {
  static const Compositions all = [] {
    Compositions table;
    for (const auto add : {add_activations, add_layouts, add_matmul, add_norms, add_poolings, add_products, add_rare,
                           add_recurrent, add_resizings})
      add(table);
    return table;
  }();
  return all;
}

/// "use --dialect=ssd or --dialect=nvcaffe, which has it"; "" if no dialect has it.
std::string who_has(const std::string& type) {
  std::string names;
  for (const auto& [name, target] : all_targets())
    if (has_type(target, type)) names += (names.empty() ? "--dialect=" : " or --dialect=") + name;
  return names.empty() ? "" : "use " + names + ", which has it";
}

bool works_in_place(const caffe::LayerParameter& layer) {
  for (const std::string& top : layer.top())
    for (const std::string& bottom : layer.bottom())
      if (top == bottom) return true;
  return false;
}

std::vector<Shape> shapes_of(const std::vector<Blob>& blobs) {
  std::vector<Shape> shapes;
  for (const Blob& blob : blobs) shapes.push_back(blob.shape);
  return shapes;
}

}  // namespace

Rewriter::Rewriter(const Subject& subject, Target target, const PlaceOf& place_of, const BatchOf& batch)
    : subject_(subject), target_(target), place_of_(place_of), batch_(batch) {
  for (const LayerWeights& weights : subject.weights) given_[weights.name] = &weights;
  for (const caffe::LayerParameter& layer : subject.net.layer()) {
    layers_.insert(layer.name());
    trains_ |= find_loss_role(layer.type()) != nullptr;
    blobs_.insert(layer.top().begin(), layer.top().end());
    for (const std::string& bottom : layer.bottom()) ++readers_[bottom];
  }
}

void Rewriter::append(caffe::LayerParameter layer) {
  if (layer.has_convolution_param()) name_both_extents(*layer.mutable_convolution_param());
  const int index = result_.net.layer_size();
  for (const auto* names : {&layer.bottom(), &layer.top()})
    for (const std::string& name : *names) uses_[name].push_back(index);
  if (layer.bottom_size() == 0) sources_.insert(layer.top().begin(), layer.top().end());
  *result_.net.add_layer() = std::move(layer);
}

const std::vector<BlobFile>* Rewriter::weights_of(const std::string& layer) const {
  static const std::vector<BlobFile> none;
  if (!subject_.weights_known) return nullptr;
  const auto found = given_.find(layer);
  return found == given_.end() ? &none : &found->second->blobs;
}

bool Rewriter::shapes_known(const caffe::LayerParameter& layer) const {
  for (const std::string& bottom : layer.bottom())
    if (!shapes_.contains(bottom)) return false;
  return true;
}

std::vector<Blob> Rewriter::bottoms_of(const caffe::LayerParameter& layer) const {
  std::vector<Blob> bottoms;
  for (const std::string& bottom : layer.bottom()) bottoms.push_back({bottom, shapes_.at(bottom)});
  return bottoms;
}

/// Notes the shapes of the layer's tops with a larger batch, for batch_axis(). Its bottoms keep theirs.
void Rewriter::learn_grown_shapes(const caffe::LayerParameter& layer) {
  std::vector<Shape> x, y;
  for (const std::string& bottom : layer.bottom())
    if (const auto found = grown_.find(bottom); found != grown_.end()) x.push_back(found->second);
  if (int(x.size()) == layer.bottom_size() && layer.type() != "Python") {
    try {
      y = graph::infer_layer(with_batch(layer, {batch_.axis, 2}), x).y;
    } catch (const FieldError&) {  // it takes only the net's own batch
    } catch (const Error&) {
    }
  }
  for (int i = 0; i < layer.top_size(); ++i)
    if (size_t(i) < y.size())
      grown_[layer.top(i)] = y[size_t(i)];
    else
      grown_.erase(layer.top(i));
}

int Rewriter::batch_axis(const std::string& blob) const {
  const auto own = shapes_.find(blob), grown = grown_.find(blob);
  if (own == shapes_.end() || grown == grown_.end() || own->second.axes() != grown->second.axes()) return 0;
  for (int axis = 0; axis < own->second.axes(); ++axis)
    if (own->second[axis] != grown->second[axis]) return axis;
  return 0;
}

/// Notes the shapes of the layer's tops; forgets them where they cannot be inferred.
void Rewriter::learn_shapes(const caffe::LayerParameter& layer) {
  learn_grown_shapes(layer);
  std::vector<Shape> y;
  if (shapes_known(layer) && layer.type() != "Python") {
    try {
      y = graph::infer_layer(layer, shapes_of(bottoms_of(layer))).y;
    } catch (const FieldError&) {  // the net's own error, which other commands report
    } catch (const Error&) {
    }
  }
  for (int i = 0; i < layer.top_size(); ++i)
    if (size_t(i) < y.size() && !(y[size_t(i)].axes() == 1 && y[size_t(i)][0] < 0))
      shapes_[layer.top(i)] = y[size_t(i)];
    else
      shapes_.erase(layer.top(i));
}

/// What the dialect lacks of the layer, "" if nothing. Removes fields without effect.
std::string Rewriter::lacking(caffe::LayerParameter& layer, const std::vector<Shape>* x, bool has_weights) const {
  const std::string lacks = fit_layer(layer, target_);
  if (!lacks.empty() || !x || x->empty()) return lacks;
  if (needs_images(layer.type()) && x->at(0).axes() != 4) return "bottom";
  const bool may_change = target_ == Target::kBvlc && subject_.weights_known && !trains_;
  return may_change && is_rare(layer, *x, has_weights) ? "type" : "";
}

/// Adds the weights of a new layer, whose shapes are `specs`.
void Rewriter::add_weights(caffe::LayerParameter& layer, const std::vector<WeightSpec>& specs, NewWeights weights) {
  if (!subject_.weights_known && weights.own) return;
  if (!subject_.weights_known && !specs.empty())
    throw FieldError("", "its composition has weights", "name the weights of the net, too: --weights=FILE");
  if (weights.blobs.size() != specs.size())
    throw FieldError("", "it needs " + std::to_string(specs.size()) + " weights, but the file has " +
                             std::to_string(weights.blobs.size()) + " for it");
  if (specs.empty()) return;
  for (size_t i = 0; i < specs.size(); ++i) {
    if (weights.blobs[i].data.size() != size_t(specs[i].shape.count()))
      throw FieldError("", "its weights do not have the shape that the layer requires");
    weights.blobs[i].shape = specs[i].shape;
    if (weights.own) continue;
    layer.add_param()->set_lr_mult(0);
    layer.mutable_param(int(i))->set_decay_mult(0);
  }
  for (const BlobFile& blob : weights.blobs) values_ += weights.own ? 0 : int64_t(blob.data.size());
  if (values_ > kMaxValues) throw FieldError("", "the weights of all compositions are too large");
  made_[layer.name()] = std::move(weights.blobs);
}

std::vector<Blob> Rewriter::emit(const Job& job, caffe::LayerParameter layer, const std::vector<Blob>& bottoms,
                                 int tops, NewWeights weights) {
  if (result_.net.layer_size() > subject_.net.layer_size() + kMaxNewLayers)
    throw FieldError("", "the compositions of all layers have more than " + std::to_string(kMaxNewLayers) + " layers");
  std::string kind = layer.type();
  for (char& c : kind) c = char(std::tolower(static_cast<unsigned char>(c)));
  // With its own weights, the layer keeps the name by which files find them.
  layer.set_name(weights.own ? job.layer().name() : unused(layers_, job.layer().name() + "_" + kind));
  for (const Blob& bottom : bottoms) layer.add_bottom(bottom.name);
  for (int i = 0; i < tops; ++i) layer.add_top(unused(blobs_, job.layer().name() + "_" + kind));
  const std::vector<Shape> x = shapes_of(bottoms);
  const LayerShapes shapes = graph::infer_layer(layer, x);
  const std::string lacks = lacking(layer, &x, !weights.blobs.empty());
  if (!lacks.empty()) return {composed(layer, bottoms, shapes.y, &weights.blobs, lacks)};
  add_weights(layer, shapes.w, std::move(weights));
  std::vector<Blob> y;
  for (int i = 0; i < tops; ++i) y.push_back({layer.top(i), shapes_[layer.top(i)] = shapes.y.at(size_t(i))});
  learn_grown_shapes(layer);
  append(std::move(layer));
  return y;
}

void Rewriter::warn(const std::string& layer, const std::string& text) {
  result_.warnings.push_back("layer '" + layer + "': " + text);
}

std::string Rewriter::reason_of(const caffe::LayerParameter& layer, const std::string& lacks) const {
  if (lacks == "type") return title_of(target_) + " has no layer type " + layer.type();
  if (lacks == "bottom") return title_of(target_) + " has " + layer.type() + " for four axes only";
  return title_of(target_) + " has no " + lacks + " as it is set";
}

Blob Rewriter::composed(const caffe::LayerParameter& layer, std::vector<Blob> x, std::vector<Shape> y,
                        const std::vector<BlobFile>* weights, const std::string& lacks) {
  const auto found = all_compositions().find(layer.type());
  if (found == all_compositions().end())
    throw FieldError("", "no composition computes it", lacks == "type" ? who_has(layer.type()) : "");
  if (layer.top_size() != 1)
    throw FieldError("", "no composition computes its " + std::to_string(layer.top_size()) + " tops");
  for (const float weight : layer.loss_weight())
    if (weight != 0) throw FieldError("", "no composition computes it with a loss_weight");
  for (const Blob& blob : x)
    if (blob.shape.count() == 0) throw FieldError("", "its bottom of shape " + blob.shape.str() + " is empty");
  Job job(*this, layer, std::move(x), std::move(y), weights);
  return found->second(job);
}

void Rewriter::refuse(int index, const std::string& lacks, const FieldError& error) {
  const caffe::LayerParameter& layer = subject_.net.layer(index);
  mistakes_.add(
      {place_of_(index, lacks == "bottom" ? "type" : lacks),
       "layer '" + layer.name() + "' (" + layer.type() + "): " + reason_of(layer, lacks) + ": " + with_field(error),
       error.hint(),
       {}});
}

void Rewriter::compose(caffe::LayerParameter source, int index, const std::string& lacks) {
  const int first = result_.net.layer_size();
  try {
    if (!shapes_known(source))
      throw FieldError("", "its composition depends on shapes that are unknown", "use a deploy net: `cortado deploy`");
    if (works_in_place(source)) make_room_for_top(source);
    const std::vector<Blob> x = bottoms_of(source);
    std::vector<Shape> y;
    if (all_compositions().contains(source.type())) y = graph::infer_layer(source, shapes_of(x)).y;
    Blob result = composed(source, x, y, weights_of(source.name()), lacks);
    if (std::any_of(x.begin(), x.end(), [&](const Blob& blob) { return blob.name == result.name; })) {
      Job job(*this, source, x, y, nullptr);
      result = power(job, result, 1, 0);
    }
    finish(source, result, first);
    ++result_.rewritten;
  } catch (const FieldError& error) {
    refuse(index, lacks, error);
  }
  learn_shapes(source);
}

void Rewriter::keep(caffe::LayerParameter layer) {
  if (const std::vector<BlobFile>* weights = weights_of(layer.name()); weights && !weights->empty())
    made_[layer.name()] = *weights;
  append(std::move(layer));
}

void Rewriter::take(int index) {
  caffe::LayerParameter layer = with_new_names(subject_.net.layer(index));
  const bool known = shapes_known(layer) && layer.bottom_size() > 0;
  const std::vector<Shape> x = known ? shapes_of(bottoms_of(layer)) : std::vector<Shape>();
  caffe::LayerParameter fitted = layer;
  const std::string lacks = lacking(fitted, known ? &x : nullptr, given_.contains(layer.name()));
  if (!lacks.empty()) return compose(std::move(layer), index, lacks);
  learn_shapes(layer);
  keep(std::move(fitted));
}

Rewritten Rewriter::run() {
  result_.net = subject_.net;
  result_.net.clear_layer();
  fit_net(result_.net, target_);
  for (int i = 0; i < subject_.net.layer_size() && mistakes_.list().size() < kMaxMistakes; ++i)
    if (resizes_height(i) && shapes_known(with_new_names(subject_.net.layer(i))))
      compose_height(i), i += 2;
    else
      take(i);
  mistakes_.throw_if_any(ExitCode::kNet);
  for (const caffe::LayerParameter& layer : result_.net.layer())
    if (auto weights = made_.extract(layer.name()))
      result_.weights.push_back({layer.name(), layer.type(), std::move(weights.mapped())});
  return std::move(result_);
}

}  // namespace cortado::dialect
