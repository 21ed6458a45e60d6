#include "graph/dialect/batches.h"

#include <algorithm>
#include <exception>
#include <map>
#include <optional>

#include "graph/dialect/rewriter.h"
#include "graph/infer_layer.h"
#include "layers/registry.h"

namespace cortado::dialect {

namespace {

caffe::NetParameter net_with_batch(caffe::NetParameter net, const BatchOf& batch) {
  for (caffe::LayerParameter& layer : *net.mutable_layer()) layer = with_batch(std::move(layer), batch);
  return net;
}

/// The shapes of tops and weights of all layers, in order; nothing if a layer with known bottoms cannot be inferred.
struct NetShapes {
  std::vector<Shape> tops, weights;
};

std::optional<NetShapes> shapes_of_net(const caffe::NetParameter& net) {
  std::map<std::string, Shape> known;
  NetShapes all;
  for (const caffe::LayerParameter& layer : net.layer()) {
    std::vector<Shape> x;
    for (const std::string& bottom : layer.bottom())
      if (const auto found = known.find(bottom); found != known.end()) x.push_back(found->second);
    for (const std::string& top : layer.top()) known.erase(top);
    if (int(x.size()) != layer.bottom_size() || layer.type() == "Python") continue;
    LayerShapes shapes;
    try {
      shapes = graph::infer_layer(layer, x);
    } catch (const FieldError&) {
      return std::nullopt;
    } catch (const Error&) {
      return std::nullopt;
    }
    for (int i = 0; i < layer.top_size() && size_t(i) < shapes.y.size(); ++i)
      if (!(shapes.y[size_t(i)].axes() == 1 && shapes.y[size_t(i)][0] < 0))
        known[layer.top(i)] = shapes.y[size_t(i)], all.tops.push_back(shapes.y[size_t(i)]);
    for (const WeightSpec& weight : shapes.w) all.weights.push_back(weight.shape);
  }
  return all;
}

/// Whether the net itself has other inputs for this batch, and accepts them.
bool accepts(const caffe::NetParameter& net, const BatchOf& batch) {
  const auto own = shapes_of_net(net), larger = shapes_of_net(net_with_batch(net, batch));
  return own && larger && own->weights == larger->weights && own->tops != larger->tops;
}

/// The axes of inputs that may hold the batch: the first, or the second of steps x sequences x values.
std::vector<int> batch_axes(const caffe::NetParameter& net) {
  bool recurs = false, has_steps = false;
  for (const caffe::LayerParameter& layer : net.layer()) {
    const LayerType* type = find_layer_type(layer.type());
    recurs |= type && type->family == LayerFamily::kRecurrent;
    for (const caffe::BlobShape& shape : layer.input_param().shape())
      has_steps |= shape.dim_size() == 3 && shape.dim(0) > 1 && shape.dim(1) == 1;
  }
  return recurs || has_steps ? std::vector<int>{0, 1} : std::vector<int>{0};
}

/// The name of the first layer that differs; nothing if the nets are the same.
std::optional<std::string> difference(const Rewritten& a, const Rewritten& b) {
  for (int i = 0; i < std::max(a.net.layer_size(), b.net.layer_size()); ++i) {
    if (i >= a.net.layer_size() || i >= b.net.layer_size()) return (i < a.net.layer_size() ? a : b).net.layer(i).name();
    if (a.net.layer(i).SerializeAsString() != b.net.layer(i).SerializeAsString()) return a.net.layer(i).name();
  }
  for (size_t i = 0; i < std::min(a.weights.size(), b.weights.size()); ++i)
    for (size_t k = 0; k < a.weights[i].blobs.size(); ++k)
      if (k >= b.weights[i].blobs.size() || a.weights[i].blobs[k].data != b.weights[i].blobs[k].data)
        return a.weights[i].name;
  return std::nullopt;
}

/// The layer that became, among others, the new layer `name`: names of new layers begin with its name.
int source_of(const caffe::NetParameter& net, const std::string& name) {
  int best = 0;
  size_t length = 0;
  for (int i = 0; i < net.layer_size(); ++i)
    if (const std::string& own = net.layer(i).name(); own.size() > length && name.starts_with(own))
      best = i, length = own.size();
  return best;
}

}  // namespace

caffe::LayerParameter with_batch(caffe::LayerParameter layer, const BatchOf& batch) {
  if (kind_of(layer.type()) != LayerKind::kInput) return layer;
  for (caffe::BlobShape& shape : *layer.mutable_input_param()->mutable_shape()) {
    const int64_t own = batch.axis < shape.dim_size() ? shape.dim(batch.axis) : 0;
    if (own > 0 && own <= INT32_MAX) shape.set_dim(batch.axis, own * batch.times);
  }
  return layer;
}

Rewritten rewrite(Subject subject, Target target, const PlaceOf& place_of) {
  const caffe::NetParameter net = subject.net;
  std::vector<int> axes = batch_axes(net);
  std::erase_if(axes, [&](int axis) { return !accepts(net, {axis, 2}) || !accepts(net, {axis, 3}); });
  Rewritten own = Rewriter(subject, target, place_of, {.axis = 0, .times = 1, .open = !axes.empty()}).run();
  if (own.rewritten == 0 || axes.empty()) return own;
  const auto made_for = [&](const BatchOf& batch) {
    subject.net = net_with_batch(net, batch);
    Rewritten made = Rewriter(subject, target, place_of, batch).run();
    for (int i = 0, from = 0; i < made.net.layer_size(); ++i) {  // inputs of the net's own batch
      if (kind_of(made.net.layer(i).type()) != LayerKind::kInput) continue;
      while (kind_of(net.layer(from).type()) != LayerKind::kInput) ++from;
      *made.net.mutable_layer(i)->mutable_input_param() = net.layer(from++).input_param();
    }
    return made;
  };
  std::string apart;
  std::exception_ptr refusal;
  for (const int axis : axes) {
    try {
      Rewritten larger = made_for({axis, 2});
      if (!difference(own, larger)) return own;
      const auto found = difference(larger, made_for({axis, 3}));
      if (!found) return larger;
      if (apart.empty()) apart = *found;
    } catch (const Error&) {
      refusal = std::current_exception();
    }
  }
  if (apart.empty()) std::rethrow_exception(refusal);
  const int index = source_of(net, apart);
  throw Error(ExitCode::kNet, {place_of(index, "type"),
                               "layer '" + net.layer(index).name() + "' (" + net.layer(index).type() +
                                   "): its composition is right for the net's own batch only",
                               "reshape to that batch before it, so that the net takes no other",
                               {}});
}

}  // namespace cortado::dialect
