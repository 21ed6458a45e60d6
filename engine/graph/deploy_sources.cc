#include "graph/deploy_sources.h"

#include <algorithm>

#include "graph/deploy.h"
#include "layers/registry.h"
#include "layers/type_names.h"

namespace cortado::graph {

namespace {

using caffe::LayerParameter;

void set_dims(caffe::BlobShape& to, const Shape& from) {
  to.clear_dim();
  for (const int64_t dim : from.dims()) to.add_dim(dim);
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "'" : ", '") + name + "'";
  return text;
}

}  // namespace

std::optional<LayerParameter> constant_of(const LayerParameter& layer, int k) {
  const LayerType* type = find_layer_type(layer.type());
  if (!type || !type->constant) return std::nullopt;
  return type->constant(layer, k);
}

void DeploySources::need(int index, const std::string& top) {
  const LayerParameter& layer = file_.net.layer(index);
  const auto place = std::find(layer.top().begin(), layer.top().end(), top);
  if (auto constant = constant_of(layer, int(place - layer.top().begin())))
    constants_[{index, top}] = std::move(*constant);
  else
    has_input_ = true;
}

void DeploySources::add_for_data(int index, const std::string& top, caffe::NetParameter& net) {
  LayerParameter& added = *net.add_layer();
  if (const auto found = constants_.find({index, top}); found != constants_.end() && has_input_) {
    added = found->second;
    added.set_name(free_name(index, top));
    added_constants_.insert(net.layer_size() - 1);
    return;
  }
  added.set_name(top);
  added.set_type(type_names::kInput);
  added.add_top(top);
  const Shape shape = shape_of(index, top);
  set_dims(*added.mutable_input_param()->add_shape(), shape);
  if (!constants_.empty() && shape.axes() > 0) batches_[written_batch(file_, index, top)] = shape[0];
  inputs_.push_back(top);
}

void DeploySources::add_input_layer(LayerParameter layer, caffe::NetParameter& net) {
  const std::vector<Shape> shapes = find_layer_type(layer.type())->input_shapes(layer);
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Shape* given = given_shape(layer.top(int(i)));
    if (!given) continue;
    auto& list = *layer.mutable_input_param()->mutable_shape();
    while (size_t(list.size()) < shapes.size()) *list.Add() = list.Get(0);
    set_dims(*list.Mutable(int(i)), *given);
    if (shapes[i].axes() > 0 && given->axes() > 0) batches_[shapes[i][0]] = (*given)[0];
  }
  inputs_.insert(inputs_.end(), layer.top().begin(), layer.top().end());
  *net.add_layer() = std::move(layer);
}

void DeploySources::finish(caffe::NetParameter& net) {
  for (const auto& [blob, shape] : shapes_)
    if (blob.empty() ? inputs_.size() > 1 : std::find(inputs_.begin(), inputs_.end(), blob) == inputs_.end())
      throw Error(
          ExitCode::kUsage,
          blob.empty() ? "--shape: the net has several inputs" : "--shape: '" + blob + "' is not an input of the net",
          "use one of its inputs: " + listed(inputs_));
  for (const int i : added_constants_) {
    caffe::DummyDataParameter& param = *net.mutable_layer(i)->mutable_dummy_data_param();
    caffe::BlobShape& shape = *param.mutable_shape(0);
    if (shape.dim_size() == 0 || param.data_filler(0).type() != "constant") continue;
    if (const auto found = batches_.find(shape.dim(0)); found != batches_.end()) shape.set_dim(0, found->second);
  }
}

/// The shape that the caller gave for an input, or null.
const Shape* DeploySources::given_shape(const std::string& top) const {
  const auto found = shapes_.find(shapes_.contains(top) ? top : "");
  return found == shapes_.end() ? nullptr : &found->second;
}

Shape DeploySources::shape_of(int index, const std::string& top) const {
  if (const Shape* given = given_shape(top)) return *given;
  try {
    return sample_shape(file_, index, top);
  } catch (const Error&) {  // the dataset is elsewhere
    const auto found = trained_.find(top);
    if (found == trained_.end()) throw;
    return found->second;
  }
}

/// A name for a constant: its layer's, if that has no other top.
std::string DeploySources::free_name(int index, const std::string& top) const {
  if (file_.net.layer(index).top_size() == 1) return file_.net.layer(index).name();
  std::string name = top;
  const auto taken = [&] {
    for (int i = 0; i < file_.net.layer_size(); ++i)
      if (i != index && file_.net.layer(i).name() == name) return true;
    return false;
  };
  while (taken()) name += "_";
  return name;
}

}  // namespace cortado::graph
