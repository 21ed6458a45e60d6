#include "onnx/import/node_reader.h"

#include <algorithm>
#include <numeric>

#include "core/error.h"
#include "layers/registry.h"
#include "onnx/import/composing.h"
#include "onnx/import/reshaping.h"

namespace cortado::importing {

std::string describe(const onnx::NodeProto& node) {
  const std::string name = !node.name().empty() ? node.name() : node.output_size() > 0 ? node.output(0) : "";
  return "node '" + name + "' (" + (node.domain().empty() ? "" : node.domain() + ".") + node.op_type() + ")";
}

BlobFile weight_of(const Shape& shape, std::vector<float> values) { return {shape, std::move(values)}; }

void NodeReader::fail(const std::string& message, const std::string& hint) const {
  file_.fail(describe(node_) + ": " + message, hint);
}

const onnx::AttributeProto* NodeReader::attribute(const std::string& name) const {
  for (const onnx::AttributeProto& attribute : node_.attribute())
    if (attribute.name() == name) return &attribute;
  return nullptr;
}

int64_t NodeReader::integer(const std::string& name, int64_t absent) const {
  const auto* found = attribute(name);
  return found ? found->i() : absent;
}

float NodeReader::real(const std::string& name, float absent) const {
  const auto* found = attribute(name);
  return found ? found->f() : absent;
}

std::string NodeReader::text(const std::string& name, const std::string& absent) const {
  const auto* found = attribute(name);
  return found ? found->s() : absent;
}

std::vector<int64_t> NodeReader::integers(const std::string& name, std::vector<int64_t> absent) const {
  const auto* found = attribute(name);
  return found ? std::vector<int64_t>(found->ints().begin(), found->ints().end()) : absent;
}

std::vector<std::string> NodeReader::texts(const std::string& name) const {
  const auto* found = attribute(name);
  return found ? std::vector<std::string>(found->strings().begin(), found->strings().end())
               : std::vector<std::string>();
}

ConstantPtr NodeReader::tensor(const std::string& name) const {
  const auto* found = attribute(name);
  return found ? std::make_shared<const Constant>(file_.read(found->t())) : nullptr;
}

const Value& NodeReader::value(size_t i) const {
  const auto found = values_.find(node_.input(int(i)));
  if (found == values_.end()) fail("no node before it produces its input '" + node_.input(int(i)) + "'");
  return found->second;
}

ConstantPtr NodeReader::constant(size_t i, const std::string& what) const {
  if (!has_input(i)) fail("input " + std::to_string(i) + ", " + what + ", is missing");
  const Value& found = value(i);
  if (found.constant) return found.constant;
  if (!found.tensor)
    fail(what + " (input '" + node_.input(int(i)) + "') must be constant", "export the model with a constant here");
  return std::make_shared<const Constant>(file_.read(*found.tensor));
}

Blob NodeReader::x(size_t i, std::optional<Padding>& padding) {
  if (!has_input(i)) fail("input " + std::to_string(i) + " is missing");
  const Value& found = value(i);
  if (found.is_constant() && found.blob.name.empty()) {
    const ConstantPtr known = constant(i, "input " + std::to_string(i));
    if (const auto blob = repeated_constant(i)) {
      values_[node_.input(int(i))] = Value{known, nullptr, *blob};
      return *blob;
    }
    const Blob blob = parameter(known->shape, known->as_floats());
    values_[node_.input(int(i))] = Value{known, nullptr, blob};
    return blob;
  }
  if (found.is_truncated)
    fail("it reads blob '" + found.blob.name + "' cast to integers", "blobs are floats; remove the Cast");
  padding = found.padding;
  return found.blob;
}

Blob NodeReader::indices(size_t i) {
  const bool is_truncated = has_input(i) && value(i).is_truncated && !value(i).padding;
  return is_truncated ? value(i).blob : x(i);
}

Blob NodeReader::x(size_t i) {
  std::optional<Padding> padding;
  const Blob blob = x(i, padding);
  return padding ? padded(blob, *padding) : blob;
}

std::optional<std::vector<int64_t>> NodeReader::list(const std::string& name, size_t input) const {
  if (has(name)) return integers(name);
  if (!has_input(input)) return std::nullopt;
  return constant(input, "its " + name)->as_integers();
}

std::optional<float> NodeReader::bound(const std::string& name, size_t input) const {
  if (has(name)) return real(name, 0);
  if (!has_input(input)) return std::nullopt;
  const ConstantPtr known = constant(input, "its " + name);
  if (known->count() != 1) fail("its " + name + " is not a single number");
  return float(known->at(0));
}

int NodeReader::axis_of(const Shape& x, int64_t axis) const {
  const int found = x.canonical_axis(axis);
  if (found < 0) fail("axis " + std::to_string(axis) + " is out of range for its input of shape " + x.str());
  return found;
}

std::string NodeReader::name() const {
  return !node_.name().empty() ? node_.name() : node_.output_size() > 0 ? node_.output(0) : node_.op_type();
}

caffe::LayerParameter NodeReader::layer(const std::string& type) {
  caffe::LayerParameter layer;
  layer.set_type(type);
  return layer;
}

Blob NodeReader::add(caffe::LayerParameter layer, const std::vector<Blob>& bottoms, std::vector<BlobFile> weights) {
  const std::string wanted = name() + "/" + layer.type();
  layer.set_name(net_.layer_name(layer.has_name() ? layer.name() : wanted));
  layer.add_top(net_.blob_name(wanted));
  return net_.add(std::move(layer), bottoms, std::move(weights)).at(0);
}

Blob NodeReader::parameter(const Shape& shape, std::vector<float> values) {
  caffe::LayerParameter made = layer("Parameter");
  for (const int64_t dim : shape.dims()) made.mutable_parameter_param()->mutable_shape()->add_dim(dim);
  return add(made, {}, {weight_of(shape, std::move(values))});
}

std::vector<Blob> NodeReader::add_many(caffe::LayerParameter layer, const std::vector<Blob>& bottoms, size_t tops,
                                       std::vector<BlobFile> weights) {
  const std::string wanted = name() + "/" + layer.type();
  layer.set_name(net_.layer_name(wanted));
  for (size_t i = 0; i < tops; ++i) layer.add_top(net_.blob_name(wanted));
  return net_.add(std::move(layer), bottoms, std::move(weights));
}

void NodeReader::finish(caffe::LayerParameter layer, const std::vector<Blob>& bottoms, std::vector<BlobFile> weights) {
  layer.set_name(net_.layer_name(layer.has_name() ? layer.name() : name()));
  const LayerType* type = find_layer_type(layer.type());
  const size_t tops = type && type->max_tops == 1 ? 1 : outputs();
  for (size_t i = 0; i < tops; ++i) layer.add_top(net_.blob_name(node_.output(int(i))));
  const std::vector<Blob> made = net_.add(std::move(layer), bottoms, std::move(weights));
  for (size_t i = 0; i < made.size(); ++i) set(i, made[i]);
}

void NodeReader::set(size_t i, Value value) {
  if (has_output(i)) values_[node_.output(int(i))] = std::move(value);
}

void NodeReader::set(size_t i, Constant constant) {
  set(i, Value{.constant = std::make_shared<const Constant>(std::move(constant))});
}

Blob NodeReader::reshaped(const Blob& x, const std::vector<int64_t>& target) {
  return extents_of(x.shape, target) == x.shape.dims() ? x : add(reshape_layer(x.shape, target, batch()), {x});
}

void NodeReader::finish_reshaped(const Blob& x, const std::vector<int64_t>& target) {
  if (extents_of(x.shape, target) == x.shape.dims()) return set(0, x);
  finish(reshape_layer(x.shape, target, batch()), {x});
}

namespace {

caffe::LayerParameter permute_layer(const std::vector<int64_t>& order) {
  caffe::LayerParameter permute = NodeReader::layer("Permute");
  for (const int64_t axis : order) permute.mutable_permute_param()->add_order(uint32_t(axis));
  return permute;
}

}  // namespace

Blob NodeReader::permuted(const Blob& x, const std::vector<int64_t>& order) {
  return std::is_sorted(order.begin(), order.end()) ? x : add(permute_layer(order), {x});
}

void NodeReader::finish_permuted(const Blob& x, const std::vector<int64_t>& order) {
  if (std::is_sorted(order.begin(), order.end())) return set(0, x);
  finish(permute_layer(order), {x});
}

Blob NodeReader::sliced(const Blob& x, int axis, int64_t from, int64_t to) {
  const int64_t extent = x.shape[axis];
  if (from == 0 && to == extent) return x;
  if (batch().in(extent)) fail("it slices the batch");
  caffe::LayerParameter slice = layer("Slice");
  slice.mutable_slice_param()->set_axis(axis);
  for (const int64_t point : {from, to})
    if (point > 0 && point < extent) slice.mutable_slice_param()->add_slice_point(uint32_t(point));
  const size_t parts = size_t(slice.slice_param().slice_point_size()) + 1;
  std::vector<Blob> tops = add_many(slice, {x}, parts);
  const size_t wanted = from > 0 ? 1 : 0;
  const Blob kept = tops[wanted];
  tops.erase(tops.begin() + int64_t(wanted));
  caffe::LayerParameter silence = layer("Silence");
  add_many(silence, tops, 0);
  return kept;
}

/// A Padding layer if both spatial axes have the same padding. Otherwise zeros are concatenated.
Blob NodeReader::padded(const Blob& x, const Padding& padding) {
  const auto all_are = [](const std::vector<int64_t>& list) {
    return std::all_of(list.begin(), list.end(), [&](int64_t one) { return one == list[0]; });
  };
  if (x.shape.axes() == 4 && all_are(padding.before) && all_are(padding.behind)) {
    caffe::LayerParameter pad = layer("Padding");
    pad.mutable_padding_param()->set_pad_beg(int32_t(padding.before[0]));
    pad.mutable_padding_param()->set_pad_end(int32_t(padding.behind[0]));
    return add(pad, {x});
  }
  Blob out = x;
  for (size_t i = 0; i < padding.before.size(); ++i)
    out = surrounded(*this, out, int(i) + 2, padding.before[i], padding.behind[i], 0);
  return out;
}

}  // namespace cortado::importing
