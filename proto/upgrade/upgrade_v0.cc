// Layers of 2013 have the options of all types in one message, with the type in lower case. A table maps each option
// and type to its current field.
#include <map>
#include <string>
#include <utility>

#include "core/log.h"
#include "proto/text/move_field.h"
#include "proto/upgrade/upgrade_layers.h"

namespace cortado {

namespace {

using V1 = caffe::V1LayerParameter;

const std::map<std::string, V1::LayerType>& v0_types() {
  static const std::map<std::string, V1::LayerType> types = {
      {"accuracy", V1::ACCURACY},
      {"bnll", V1::BNLL},
      {"concat", V1::CONCAT},
      {"conv", V1::CONVOLUTION},
      {"data", V1::DATA},
      {"dropout", V1::DROPOUT},
      {"euclidean_loss", V1::EUCLIDEAN_LOSS},
      {"flatten", V1::FLATTEN},
      {"hdf5_data", V1::HDF5_DATA},
      {"hdf5_output", V1::HDF5_OUTPUT},
      {"im2col", V1::IM2COL},
      {"images", V1::IMAGE_DATA},
      {"infogain_loss", V1::INFOGAIN_LOSS},
      {"innerproduct", V1::INNER_PRODUCT},
      {"lrn", V1::LRN},
      {"multinomial_logistic_loss", V1::MULTINOMIAL_LOGISTIC_LOSS},
      {"pool", V1::POOLING},
      {"relu", V1::RELU},
      {"sigmoid", V1::SIGMOID},
      {"softmax", V1::SOFTMAX},
      {"softmax_loss", V1::SOFTMAX_LOSS},
      {"split", V1::SPLIT},
      {"tanh", V1::TANH},
      {"window_data", V1::WINDOW_DATA},
  };
  return types;
}

/// The current field of an option of the layers of one type; "" is any type.
struct Move {
  const char* field;
  const char* type;
  const char* to;
};

constexpr Move kMoves[] = {
    {"name", "", "name"},
    {"blobs", "", "blobs"},
    {"blobs_lr", "", "blobs_lr"},
    {"weight_decay", "", "weight_decay"},
    {"num_output", "conv", "convolution_param.num_output"},
    {"num_output", "innerproduct", "inner_product_param.num_output"},
    {"biasterm", "conv", "convolution_param.bias_term"},
    {"biasterm", "innerproduct", "inner_product_param.bias_term"},
    {"weight_filler", "conv", "convolution_param.weight_filler"},
    {"weight_filler", "innerproduct", "inner_product_param.weight_filler"},
    {"bias_filler", "conv", "convolution_param.bias_filler"},
    {"bias_filler", "innerproduct", "inner_product_param.bias_filler"},
    {"pad", "conv", "convolution_param.pad"},
    {"pad", "pool", "pooling_param.pad"},
    {"kernelsize", "conv", "convolution_param.kernel_size"},
    {"kernelsize", "pool", "pooling_param.kernel_size"},
    {"group", "conv", "convolution_param.group"},
    {"stride", "conv", "convolution_param.stride"},
    {"stride", "pool", "pooling_param.stride"},
    {"pool", "pool", "pooling_param.pool"},
    {"dropout_ratio", "dropout", "dropout_param.dropout_ratio"},
    {"local_size", "lrn", "lrn_param.local_size"},
    {"alpha", "lrn", "lrn_param.alpha"},
    {"beta", "lrn", "lrn_param.beta"},
    {"k", "lrn", "lrn_param.k"},
    {"source", "data", "data_param.source"},
    {"source", "hdf5_data", "hdf5_data_param.source"},
    {"source", "images", "image_data_param.source"},
    {"source", "window_data", "window_data_param.source"},
    {"source", "infogain_loss", "infogain_loss_param.source"},
    {"scale", "", "transform_param.scale"},
    {"meanfile", "", "transform_param.mean_file"},
    {"cropsize", "", "transform_param.crop_size"},
    {"mirror", "", "transform_param.mirror"},
    {"batchsize", "data", "data_param.batch_size"},
    {"batchsize", "hdf5_data", "hdf5_data_param.batch_size"},
    {"batchsize", "images", "image_data_param.batch_size"},
    {"batchsize", "window_data", "window_data_param.batch_size"},
    {"rand_skip", "data", "data_param.rand_skip"},
    {"rand_skip", "images", "image_data_param.rand_skip"},
    {"shuffle_images", "images", "image_data_param.shuffle"},
    {"new_height", "images", "image_data_param.new_height"},
    {"new_width", "images", "image_data_param.new_width"},
    {"concat_dim", "concat", "concat_param.concat_dim"},
    {"det_fg_threshold", "window_data", "window_data_param.fg_threshold"},
    {"det_bg_threshold", "window_data", "window_data_param.bg_threshold"},
    {"det_fg_fraction", "window_data", "window_data_param.fg_fraction"},
    {"det_context_pad", "window_data", "window_data_param.context_pad"},
    {"det_crop_mode", "window_data", "window_data_param.crop_mode"},
    {"hdf5_output_param", "hdf5_output", "hdf5_output_param"},
};

/// Moves the options of `layer.layer()` to `layer`. Options that the type ignores are dropped with a warning.
void upgrade_v0_layer(V1& layer, const std::string& path, Positions& positions, Mistakes& mistakes) {
  caffe::V0LayerParameter old = layer.layer();
  layer.clear_layer();
  const PlacedMessage from{old, path_to(path, "layer")}, to{layer, path};
  const auto type = v0_types().find(old.type());
  if (type == v0_types().end()) {
    mistakes.add({positions.place(path_to(from.path, "type")),
                  "unknown type '" + old.type() + "' of a layer in the format of 2013",
                  {},
                  {}});
    return;
  }
  layer.set_type(type->second);
  positions.copy(path_to(from.path, "type"), path_to(path, "type"));
  const auto* fields = old.GetDescriptor();
  for (int i = 0; i < fields->field_count(); ++i) {
    const std::string& name = fields->field(i)->name();
    if (!is_set(old, name) || name == "type") continue;
    const Move* found = nullptr;
    for (const Move& move : kMoves)
      if (name == move.field && (*move.type == '\0' || old.type() == move.type)) found = &move;
    if (found == nullptr) {
      log_warning() << positions.name_place(path_to(from.path, name)).str() << ": '" << name
                    << "' has no effect in a layer of type '" << old.type() << "'";
      continue;
    }
    const int count = fields->field(i)->is_repeated() ? old.GetReflection()->FieldSize(old, fields->field(i)) : 0;
    if (count == 0) copy_field(from, name, -1, to, found->to, positions);
    for (int k = 0; k < count; ++k) copy_field(from, name, k, to, found->to, positions);
  }
}

/// Removes padding layers: the convolution or pooling that reads one gets its `pad`, and its bottom.
void fold_padding(caffe::NetParameter& net, const std::string& path, Positions& positions, Mistakes& mistakes) {
  std::map<std::string, std::pair<V1, std::string>> padding;  // by top: the layer and its path
  google::protobuf::RepeatedPtrField<V1> kept;
  for (int i = 0; i < net.layers_size(); ++i) {
    V1& layer = *net.mutable_layers(i);
    const std::string place = path_to(path, "layers", i);
    if (layer.layer().type() == "padding" && layer.bottom_size() == 1 && layer.top_size() == 1) {
      padding[layer.top(0)] = {layer, place};
      continue;
    }
    for (std::string& bottom : *layer.mutable_bottom()) {
      const auto found = padding.find(bottom);
      if (found == padding.end()) continue;
      caffe::V0LayerParameter& old = *layer.mutable_layer();
      if (old.type() != "conv" && old.type() != "pool")
        mistakes.add(
            {positions.place(place), "a layer of type '" + old.type() + "' cannot read a padding layer", {}, {}});
      old.set_pad(found->second.first.layer().pad());
      positions.copy(found->second.second + ".layer.pad", place + ".layer.pad");
      bottom = found->second.first.bottom(0);
    }
    positions.copy(place, path_to(path, "layers", kept.size()));
    *kept.Add() = layer;
  }
  net.mutable_layers()->Swap(&kept);
}

}  // namespace

std::string type_of_2013(const std::string& word) {
  const auto type = v0_types().find(word);
  return type == v0_types().end() ? word : type_of_2014(uint64_t(type->second));
}

void upgrade_v0_layers(caffe::NetParameter& net, const std::string& path, Positions& positions, Mistakes& mistakes) {
  bool any = false;
  for (const V1& layer : net.layers()) any |= layer.has_layer();
  if (!any) return;
  fold_padding(net, path, positions, mistakes);
  for (int i = 0; i < net.layers_size(); ++i)
    if (net.layers(i).has_layer())
      upgrade_v0_layer(*net.mutable_layers(i), path_to(path, "layers", i), positions, mistakes);
}

}  // namespace cortado
