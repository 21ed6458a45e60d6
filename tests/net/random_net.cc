#include "tests/net/random_net.h"

#include <algorithm>
#include <map>
#include <set>

namespace cortado {

using harness::Array;

namespace {

constexpr int64_t kRows = 3, kHeight = 4, kWidth = 5, kClasses = 4, kFeatures = 6;

Shape with_channels(const Shape& shape, int64_t channels) {
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  dims[1] = channels;
  return Shape(dims);
}

}  // namespace

RandomNet::RandomNet(uint64_t seed) : random_(mix_key(seed, 0x9e7)), seed_(seed) {
  net_.set_name("random" + std::to_string(seed));
  net_.set_force_backward(chance(0.3));
  // 20 channels have padding lanes, 16 have none.
  const Shape images{kRows, chance(0.5) ? 20 : 16, kHeight, kWidth};
  add_input("images", harness::random(images, seed));
  add_input("rows", harness::random({kRows, kFeatures}, seed + 1));
  add_input("label", harness::random_labels({kRows}, seed, kClasses));
  add_input("target", harness::random({kRows, kFeatures}, seed + 2));
  for (const size_t input : {0, 1})  // whose gradient is that of the input
    if (chance(0.5)) add("Bias", {input}, blobs_[input].shape).mutable_bias_param()->set_axis(0);
  for (caffe::LayerParameter& layer : *net_.mutable_layer())
    if (layer.type() == "Bias") layer.mutable_bias_param()->set_num_axes(-1);
  for (size_t n = 3 + below(4); n > 0; --n) add_image_layer();
  for (size_t n = 2 + below(3); n > 0; --n) add_row_layer();
  const int heads = 1 + int(below(3));
  for (int head = 0; head < heads; ++head) add_head(head);
  add_loss_weights();
  add_stops();
  set_rates();
}

void RandomNet::add_input(const std::string& name, Array values) {
  caffe::LayerParameter& layer = *net_.add_layer();
  layer.set_name(name);
  layer.set_type("Input");
  layer.add_top(name);
  for (const int64_t dim : values.shape.dims()) {
    if (layer.input_param().shape_size() == 0) layer.mutable_input_param()->add_shape();
    layer.mutable_input_param()->mutable_shape(0)->add_dim(dim);
  }
  blobs_.push_back({name, values.shape});
  input_names_.push_back(name);
  inputs_.push_back(std::move(values));
}

/// With one top of that shape. A layer in place replaces the only value of a blob, which nothing else reads.
caffe::LayerParameter& RandomNet::add(const std::string& type, const std::vector<size_t>& bottoms, const Shape& shape,
                                      bool may_be_in_place) {
  caffe::LayerParameter& layer = *net_.add_layer();
  layer.set_type(type);
  layer.set_name(new_name(type));
  for (const size_t bottom : bottoms) layer.add_bottom(blobs_[bottom].name);
  if (may_be_in_place && blobs_[bottoms[0]].may_change && chance(0.6)) {
    layer.add_top(layer.bottom(0));
    return layer;
  }
  for (const size_t bottom : bottoms) blobs_[bottom].may_change = false;
  layer.add_top(layer.name());
  blobs_.push_back({layer.name(), shape, true});
  return layer;
}

/// A late one with more chance, so that nets are deep.
size_t RandomNet::any_with_axes(int axes) {
  std::vector<size_t> found;
  for (size_t b = 0; b < blobs_.size(); ++b)
    if (blobs_[b].shape.axes() == axes && blobs_[b].name != "target") found.push_back(b);
  return chance(0.6) ? found.back() : found[below(found.size())];
}

/// One to three blobs of its shape, itself among them. The first may be the last as well.
std::vector<size_t> RandomNet::alike(size_t blob) {
  std::vector<size_t> list = {blob}, same;
  for (size_t b = 0; b < blobs_.size(); ++b)
    if (blobs_[b].shape == blobs_[blob].shape && blobs_[b].name != "target") same.push_back(b);
  list.push_back(same[below(same.size())]);
  if (chance(0.5)) list.push_back(chance(0.6) ? blob : same[below(same.size())]);
  return list;
}

void RandomNet::add_activation(size_t blob) {
  static const char* const kTypes[] = {"ReLU", "ReLU", "TanH", "Sigmoid", "ELU", "PReLU", "Power"};
  const std::string type = kTypes[below(std::size(kTypes))];
  caffe::LayerParameter& layer = add(type, {blob}, blobs_[blob].shape, /*may_be_in_place=*/true);
  if (type == "ReLU" && chance(0.4)) layer.mutable_relu_param()->set_negative_slope(0.25f);
  if (type != "Power") return;
  layer.mutable_power_param()->set_scale(0.5f);
  layer.mutable_power_param()->set_shift(0.25f);
  if (chance(0.5)) layer.mutable_power_param()->set_power(2);
}

void RandomNet::add_eltwise(size_t blob) {
  const std::vector<size_t> bottoms = alike(blob);
  caffe::EltwiseParameter& options = *add("Eltwise", bottoms, blobs_[blob].shape).mutable_eltwise_param();
  const size_t kind = below(4);
  if (kind == 1) options.set_operation(caffe::EltwiseParameter::PROD);
  if (kind == 2) options.set_operation(caffe::EltwiseParameter::MAX);
  if (kind == 3)
    for (size_t k = 0; k < bottoms.size(); ++k) options.add_coeff(k == 0 ? 0.5f : -0.75f);
}

void RandomNet::add_image_layer() {
  const size_t blob = any_with_axes(4);
  const Shape shape = blobs_[blob].shape;
  switch (below(6)) {
    case 0:
    case 1: {
      const int64_t outputs = chance(0.6) ? blobs_[0].shape[1] : 8;
      auto& options = *add("Convolution", {blob}, with_channels(shape, outputs)).mutable_convolution_param();
      options.set_num_output(uint32_t(outputs));
      options.add_kernel_size(chance(0.5) ? 3 : 1);
      options.add_pad(options.kernel_size(0) / 2);
      options.set_bias_term(chance(0.5));
      if (chance(0.6)) {
        add("BatchNorm", {blobs_.size() - 1}, blobs_.back().shape, true);
        add("Scale", {blobs_.size() - 1}, blobs_.back().shape, true).mutable_scale_param()->set_bias_term(chance(0.5));
      }
      if (chance(0.5) && blobs_.back().shape == shape) add("Eltwise", {blobs_.size() - 1, blob}, shape);
      if (chance(0.6)) add_activation(blobs_.size() - 1);
      if (chance(0.3)) {
        auto& pooling = *add("Pooling", {blobs_.size() - 1}, blobs_.back().shape).mutable_pooling_param();
        pooling.set_kernel_size(3);
        pooling.set_pad(1);
      }
      return;
    }
    case 2:
      return add_activation(blob);
    case 3:
      return add_eltwise(blob);
    case 4: {
      const std::vector<size_t> bottoms = alike(blob);
      add("Concat", bottoms, with_channels(shape, shape[1] * int64_t(bottoms.size())));
      auto& narrow = *add("Convolution", {blobs_.size() - 1}, shape).mutable_convolution_param();
      narrow.set_num_output(uint32_t(shape[1]));
      narrow.add_kernel_size(1);
      return;
    }
    default: {
      if (shape[1] % 2 != 0) return add_activation(blob);
      const Shape half = with_channels(shape, shape[1] / 2);
      caffe::LayerParameter& layer = add("Slice", {blob}, half);
      layer.add_top(layer.name() + "b");
      blobs_.push_back({layer.top(1), half, true});
    }
  }
}

void RandomNet::add_row_layer() {
  const size_t blob = any_with_axes(2);
  switch (below(4)) {
    case 0:
      return add_activation(blob);
    case 1:
      return add_eltwise(blob);
    default: {  // which share a matrix, and perhaps a bias
      caffe::LayerParameter& layer = add("InnerProduct", {blob}, {kRows, kFeatures});
      layer.mutable_inner_product_param()->set_num_output(kFeatures);
      if (chance(0.8)) layer.add_param()->set_name("matrix");
      if (layer.param_size() > 0 && chance(0.5)) layer.add_param()->set_name("shift");
    }
  }
}

/// A product of an image or of rows, and its loss; perhaps layers that read the loss.
void RandomNet::add_head(int number) {
  const bool of_rows = number == 1 || chance(0.3), classes = chance(0.5);
  size_t blob = any_with_axes(of_rows ? 2 : 4);
  if (!of_rows && chance(0.6)) {
    const Shape pooled{kRows, blobs_[blob].shape[1], 1, 1};
    auto& options = *add("Pooling", {blob}, pooled).mutable_pooling_param();
    options.set_pool(caffe::PoolingParameter::AVE);
    options.set_global_pooling(true);
    blob = blobs_.size() - 1;
  }
  const int64_t outputs = classes ? kClasses : kFeatures;
  add("InnerProduct", {blob}, {kRows, outputs}).mutable_inner_product_param()->set_num_output(uint32_t(outputs));
  caffe::LayerParameter& loss =
      add(classes ? "SoftmaxWithLoss" : "EuclideanLoss", {blobs_.size() - 1, size_t(classes ? 2 : 3)}, {});
  if (chance(0.7)) loss.add_loss_weight(0.5f + float(number) * 0.75f);
  const size_t of_loss = blobs_.size() - 1;
  if (chance(0.5)) {
    auto& reader = add("Power", {of_loss}, {});
    reader.mutable_power_param()->set_power(2);
    if (chance(0.7)) reader.add_loss_weight(0.3f);
  }
  if (chance(0.3)) add("Eltwise", {of_loss, of_loss, of_loss}, {}).add_loss_weight(0.2f);
  blobs_[of_loss].may_change = false;
}

/// Of values that stay as they are: what is read by other layers, too.
void RandomNet::add_loss_weights() {
  std::map<std::string, int> writers;
  for (const caffe::LayerParameter& layer : net_.layer())
    for (const std::string& top : layer.top()) ++writers[top];
  for (caffe::LayerParameter& layer : *net_.mutable_layer()) {
    if (layer.type() == "Input" || layer.loss_weight_size() > 0 || layer.type().ends_with("Loss")) continue;
    if (layer.top_size() != 1 || writers[layer.top(0)] > 1 || !chance(0.12)) continue;
    layer.add_loss_weight(0.02f);
  }
}

void RandomNet::add_stops() {
  for (caffe::LayerParameter& layer : *net_.mutable_layer())
    if (layer.bottom_size() > 0 && chance(0.2))
      for (int i = 0; i < layer.bottom_size(); ++i)
        layer.add_propagate_down(layer.bottom(i) != "label" && layer.bottom(i) != "target" && chance(0.6));
}

/// Each factor of a shared weight in one layer only, which may be the first, a later one or none.
void RandomNet::set_rates() {
  std::map<std::string, std::vector<caffe::ParamSpec*>> shared;
  for (caffe::LayerParameter& layer : *net_.mutable_layer()) {
    for (caffe::ParamSpec& param : *layer.mutable_param()) shared[param.name()].push_back(&param);
    const bool one_weight = layer.type() == "Convolution" || layer.type() == "InnerProduct" || layer.type() == "Scale";
    if (layer.param_size() == 0 && one_weight && chance(0.15)) layer.add_param()->set_lr_mult(0);
  }
  for (auto& [name, params] : shared) {
    if (chance(0.7)) params[below(params.size())]->set_lr_mult(chance(0.3) ? 0.0f : 2.5f);
    if (chance(0.7)) params[below(params.size())]->set_decay_mult(0.5f);
  }
}

}  // namespace cortado
