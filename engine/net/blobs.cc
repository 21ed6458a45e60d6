// Blobs and weights as the user sees them: names, shapes in N x C x H x W, row-major values, Caffe's messages.

#include <algorithm>

#include "core/log.h"
#include "core/text/text.h"
#include "layers/registry.h"
#include "layers/roles.h"
#include "net/bound_step.h"
#include "net/tensor_values.h"
#include "proto/weights/batch_norm_form.h"
#include "proto/weights/weights_file.h"

namespace cortado {

namespace {

std::vector<std::string> blob_names(const graph::Graph& graph) {
  std::vector<std::string> names;
  for (const auto& [name, id] : graph.names) names.push_back(name);
  return names;
}

graph::ValueId find_blob(const graph::Graph& graph, const std::string& blob) {
  const auto found = graph.names.find(blob);
  if (found != graph.names.end()) return found->second;
  throw Error(ExitCode::kUsage, "the net has no blob '" + blob + "'", meant_or_known(blob, blob_names(graph)));
}

void set_shape(caffe::BlobProto& blob, const Shape& shape) {
  blob.mutable_shape();
  for (const int64_t dim : shape.dims()) blob.mutable_shape()->add_dim(dim);
}

}  // namespace

std::string layers_text(const std::vector<std::string>& names) {
  constexpr size_t kMost = 8;
  std::string text = names.size() == 1 ? "layer " : "layers ";
  for (size_t i = 0; i < std::min(names.size(), kMost); ++i) {
    const bool last = i + 1 == names.size();
    text += (i == 0 ? "'" : last ? " and '" : ", '") + names[i] + "'";
  }
  return names.size() > kMost ? text + " and " + std::to_string(names.size() - kMost) + " others" : text;
}

bool Net::has_blob(const std::string& blob) const {
  const auto found = plan_.graph.names.find(blob);
  return found != plan_.graph.names.end() && plan_.graph.value(found->second).kept;
}

Shape Net::blob_shape(const std::string& blob) const { return value_shape(find_blob(plan_.graph, blob)); }

const Shape& Net::value_shape(graph::ValueId id) const {
  const graph::Value& value = plan_.graph.value(id);
  return value.dynamic_rows ? current_shapes_[size_t(id)] : value.shape;
}

std::vector<float> Net::read_blob(const std::string& blob) const {
  const graph::ValueId id = find_blob(plan_.graph, blob);
  if (!plan_.graph.value(id).kept)
    throw Error(ExitCode::kUsage, "blob '" + blob + "' is not kept: its memory is reused during a pass");
  std::vector<float> plain(size_t(plan_.graph.value(id).shape.count()));
  read_blob_to(id, plain.data());
  plain.resize(size_t(blob_shape(blob).count()));  // the pass may have fewer rows than planned
  return plain;
}

void Net::read_blob_to(graph::ValueId value, float* plain) const { read_values(context_, value_tensor(value), plain); }

Tensor Net::tensor_at(const graph::Slot& slot) const {
  return {slot.spec, context_.device, slot.offset < 0 ? nullptr : arena_.data() + slot.offset};
}

Tensor Net::value_tensor(graph::ValueId value) const { return tensor_at(plan_.values[size_t(value)]); }
Tensor Net::gradient_tensor(graph::ValueId value) const { return tensor_at(plan_.gradients[size_t(value)]); }

void Net::write_blob(const std::string& blob, const float* plain) {
  // In-place layers give their result the same name. The value to set is the first: that of the layer without inputs.
  for (size_t id = 0; id < plan_.graph.values.size(); ++id) {
    const graph::Value& value = plan_.graph.values[id];
    if (value.name != blob || value.producer < 0 || !plan_.graph.node(value.producer).x.empty()) continue;
    return write_values(context_, plain, value_tensor(graph::ValueId(id)));
  }
  throw Error(ExitCode::kUsage, "the net has no input '" + blob + "'", did_you_mean(blob, input_names()));
}

std::vector<std::string> Net::input_names() const {
  std::vector<std::string> names;
  for (const graph::Node& node : plan_.graph.nodes)
    if (kind_of(node.type) == LayerKind::kInput)
      for (const graph::ValueId id : node.y) names.push_back(plan_.graph.value(id).name);
  return names;
}

namespace {

/// Why `from` cannot be copied into the layer's weights, or "".
std::string misfit(const graph::Graph& graph, const graph::SourceLayer& layer, const LayerWeights& from) {
  // Blobs that an earlier layer owns may be missing, also the last ones.
  const auto shared = [&](size_t k) { return graph.weight(layer.weights[k]).layer != layer.config->name(); };
  size_t last = layer.weights.size();
  while (last > from.blobs.size() && shared(last - 1)) --last;
  if (from.blobs.size() != last)
    return layer_text(from.name) + " has " + std::to_string(from.blobs.size()) + " blobs in the file, " +
           std::to_string(layer.weights.size()) + " in the net";
  for (size_t k = 0; k < from.blobs.size(); ++k) {
    const Shape& wanted = graph.weight(layer.weights[k]).spec.shape;
    const Shape& have = from.blobs[k].shape;
    if (is_absent(from.blobs[k]) && shared(k)) continue;
    if (is_absent(from.blobs[k])) return layer_text(from.name) + " blob " + std::to_string(k) + " is not in the file";
    // Old versions of Caffe wrote every blob with four axes: 1x1xNxK is NxK.
    std::vector<int64_t> padded(have.axes() == 4 && wanted.axes() < 4 ? size_t(4 - wanted.axes()) : 0, 1);
    padded.insert(padded.end(), wanted.dims().begin(), wanted.dims().end());
    // Forks of Caffe store the blobs of a BN with one, two or four axes.
    const LayerType* type = find_layer_type(layer.config->type());
    if (type->any_axes_of_weights && have.count() == wanted.count()) continue;
    if (have != wanted && have.dims() != padded)
      return layer_text(from.name) + " blob " + std::to_string(k) + ": " + have.str() + " in the file, " +
             wanted.str() + " in the net";
  }
  return {};
}

const char* advice_for(const caffe::LayerParameter& layer, const LayerWeights& from) {
  const LayerType* type = find_layer_type(layer.type());
  const char* advice = type->advice ? type->advice(from.blobs.size()) : "";
  return *advice ? advice : "rename this layer to train it from scratch";
}

}  // namespace

int Net::load_weights(const std::vector<LayerWeights>& file, const std::string& path) {
  std::vector<Diagnostic> mistakes;
  int copied = 0;
  bool warned = false;  // once for each file: a training that diverged spoils most weights
  std::vector<const caffe::LayerParameter*> layers;
  for (const graph::SourceLayer& layer : plan_.graph.layers) layers.push_back(layer.config);
  const FittedWeights fitted = fit_batch_norms(layers, file);
  for (const std::string& line : fitted.converted) log_info() << path << ": BatchNorm " << line;
  for (const LayerWeights* blobs : fitted.layers) {
    const LayerWeights& from = *blobs;
    const int source = plan_.graph.source_named(from.name);
    if (source < 0) {
      const auto& dropped = plan_.graph.dropped;
      if (std::find(dropped.begin(), dropped.end(), from.name) == dropped.end())
        log_info() << "Ignoring source layer " << from.name;
      continue;
    }
    if (from.blobs.empty()) continue;
    const graph::SourceLayer& layer = plan_.graph.source(source);
    if (const std::string wrong = misfit(plan_.graph, layer, from); !wrong.empty()) {
      mistakes.push_back(
          {plan_.graph.place_of_layer(source), path + ": " + wrong, advice_for(*layer.config, from), {}});
      continue;
    }
    for (size_t k = 0; k < from.blobs.size(); ++k) {
      const size_t id = size_t(layer.weights[k]);
      if (is_absent(from.blobs[k])) continue;
      memory_->drawn[id] = false;
      if (const std::string bad = not_finite_in(from.blobs[k].data); !bad.empty() && !warned) {
        warned = true;
        log_warning() << path << ": blob " << k << " of layer '" << from.name << "' contains " << bad;
      }
      plan_.w_formats[id].from_plain(context_, from.blobs[k].data.data(), memory_->w[id]);
    }
    ++copied;
  }
  memory_->derived->weights_changed();
  if (!mistakes.empty()) throw Error(ExitCode::kSnapshot, std::move(mistakes));
  if (copied == 0 && !plan_.graph.weights.empty())
    throw Error(ExitCode::kSnapshot, path + ": no layer of the file has the name of a layer of the net",
                "weights are copied by layer name: compare the file's names with `cortado summary`");
  return copied;
}

std::vector<std::string> Net::layers_without_weights() const {
  std::vector<std::string> layers;
  for (const graph::SourceLayer& layer : plan_.graph.layers)
    if (std::ranges::any_of(layer.weights, [&](graph::WeightId id) { return memory_->drawn[size_t(id)]; }))
      layers.push_back(layer.config->name());
  return layers;
}

void Net::require_weights() const {
  const std::vector<std::string> missing = layers_without_weights();
  if (missing.empty()) return;
  throw Error(ExitCode::kSnapshot, {plan_.graph.place_of_layer(plan_.graph.source_named(missing[0])),
                                    "no weights file has " + layers_text(missing),
                                    "compare the layer names of the file with the "
                                    "net's, or name another weights file",
                                    {}});
}

caffe::NetParameter Net::to_proto(bool with_diffs) {
  caffe::NetParameter net;
  net.set_name(name());
  for (size_t i = 0; i < plan_.graph.layers.size(); ++i) layer_to_proto(i, *net.add_layer(), with_diffs);
  return net;
}

void Net::layer_to_proto(size_t source, caffe::LayerParameter& out, bool with_diffs) {
  const graph::SourceLayer& layer = plan_.graph.layers[source];
  out.CopyFrom(*layer.config);
  out.clear_blobs();
  out.set_phase(plan_.graph.phase());
  for (const graph::WeightId id : layer.weights) {
    caffe::BlobProto& blob = *out.add_blobs();
    const Shape& shape = plan_.graph.weight(id).spec.shape;
    set_shape(blob, shape);
    blob.mutable_data()->Resize(int(shape.count()), 0);
    read_weight(id, blob.mutable_data()->mutable_data());
    if (!with_diffs || !has_weight_gradient(id)) continue;
    blob.mutable_diff()->Resize(int(shape.count()), 0);
    read_weight_gradient(id, blob.mutable_diff()->mutable_data());
  }
}

void Net::read_weight(graph::WeightId id, float* plain) const {
  plan_.w_formats[size_t(id)].to_plain(context_, weight(id), plain);
}

void Net::write_weight(graph::WeightId id, const float* plain) {
  memory_->drawn[size_t(id)] = false;
  plan_.w_formats[size_t(id)].from_plain(context_, plain, weight(id));
  weights_changed();
}

void Net::read_weight_gradient(graph::WeightId id, float* plain) const {
  plan_.w_formats[size_t(id)].to_plain(context_, weight_gradient(id), plain);
}

void Net::write_weight_gradient(graph::WeightId id, const float* plain) {
  plan_.w_formats[size_t(id)].from_plain(context_, plain, weight_gradient(id));
}

std::vector<std::pair<std::string, uint64_t>> Net::positions() const {
  std::vector<std::pair<std::string, uint64_t>> list;
  for (const graph::Node& node : plan_.graph.nodes)
    if (const auto* cursor = node.layer->roles().cursor) list.emplace_back(node.name, cursor->position());
  return list;
}

std::vector<CarriedValues> Net::carried_values() {
  std::vector<CarriedValues> list;
  for (const graph::Node& node : plan_.graph.nodes)
    if (auto* memory = node.layer->roles().memory; memory && !memory->carried().empty())
      list.push_back({node.name, memory->carried()});
  return list;
}

void Net::seek(const std::string& layer, uint64_t position) {
  for (const graph::Node& node : plan_.graph.nodes)
    if (auto* cursor = node.layer->roles().cursor; cursor && node.name == layer) cursor->seek(position);
}

int64_t Net::batch_size() const {
  for (const graph::Node& node : plan_.graph.nodes)
    if (node.x.empty() && !node.y.empty()) {
      const Shape& shape = plan_.graph.value(node.y[0]).shape;
      return shape.axes() > 0 ? shape[0] : 1;
    }
  return 0;
}

double Net::wait_seconds() const {
  double sum = 0;
  for (const graph::Node& node : plan_.graph.nodes)
    if (const auto* cursor = node.layer->roles().cursor) sum += cursor->wait_seconds();
  return sum;
}

}  // namespace cortado
