#include "tools/starter/head.h"

#include <algorithm>

#include "core/error.h"

namespace cortado::tools {

namespace {

using caffe::LayerParameter;
using caffe::NetParameter;

bool has_outputs(const LayerParameter& layer) {
  return layer.type() == "InnerProduct" || layer.type() == "Convolution";
}

/// The index of the layer before layer `i`, towards the data; -1: none.
int before(const NetParameter& net, int i) {
  return net.layer(i).bottom_size() > 0 ? maker_of(net, net.layer(i).bottom(0), i) : -1;
}

void set_outputs(LayerParameter& layer, int64_t classes) {
  if (layer.type() == "InnerProduct")
    layer.mutable_inner_product_param()->set_num_output(uint32_t(classes));
  else
    layer.mutable_convolution_param()->set_num_output(uint32_t(classes));
}

void learn_faster(LayerParameter& layer, float factor) {
  while (layer.param_size() < 2) layer.add_param();
  for (caffe::ParamSpec& param : *layer.mutable_param()) param.set_lr_mult(param.lr_mult() * factor);
}

bool is_needless(const LayerParameter& layer, int64_t classes) {
  return layer.type() == "Accuracy" && layer.accuracy_param().top_k() > 1 &&
         2 * int64_t(layer.accuracy_param().top_k()) > classes;
}

}  // namespace

int maker_of(const NetParameter& net, const std::string& blob, int at) {
  for (int i = at; i-- > 0;)
    if (std::find(net.layer(i).top().begin(), net.layer(i).top().end(), blob) != net.layer(i).top().end()) return i;
  return -1;
}

std::vector<int> head_layers(const NetParameter& net, const std::string& path) {
  std::vector<int> heads;
  for (int i = 0; i < net.layer_size(); ++i) {
    if (net.layer(i).type() != "SoftmaxWithLoss") continue;
    int at = before(net, i);
    while (at >= 0 && !has_outputs(net.layer(at))) at = before(net, at);
    if (at >= 0 && std::find(heads.begin(), heads.end(), at) == heads.end()) heads.push_back(at);
  }
  if (heads.empty())
    throw file_error(ExitCode::kNet, path,
                     "no SoftmaxWithLoss after an InnerProduct or a Convolution, so this net is not a classifier",
                     "give the train_val.prototxt of a classifier");
  return heads;
}

Choices set_classes(NetParameter& net, const std::vector<int>& heads, int64_t classes, const std::string& suffix,
                    float faster) {
  std::string names;
  for (const int head : heads) {
    LayerParameter& layer = *net.mutable_layer(head);
    set_outputs(layer, classes);
    if (!suffix.empty()) {
      layer.set_name(layer.name() + "_" + suffix);
      learn_faster(layer, faster);
    }
    names += (names.empty() ? "" : ", ") + layer.name();
  }
  for (int i = net.layer_size(); i-- > 0;)
    if (is_needless(net.layer(i), classes)) net.mutable_layer()->DeleteSubrange(i, 1);
  const std::string why = "one output for each class";
  if (suffix.empty()) return {{"last layer", names, why}};
  const std::string rate =
      faster == 1 ? "" : " and learns " + std::to_string(int(faster)) + " times as fast as the pretrained layers";
  return {{"last layer", names, why + "; a new name, so that it starts from random weights" + rate}};
}

std::string accuracy_blob(NetParameter& net) {
  const LayerParameter* loss = nullptr;
  for (int i = net.layer_size(); i-- > 0;) {
    const LayerParameter& layer = net.layer(i);
    if (layer.type() == "Accuracy" && layer.accuracy_param().top_k() == 1 && layer.top_size() > 0) return layer.top(0);
    if (layer.type() == "SoftmaxWithLoss" && !loss) loss = &layer;
  }
  LayerParameter accuracy;
  accuracy.set_name("accuracy");
  accuracy.set_type("Accuracy");
  *accuracy.mutable_bottom() = loss->bottom();
  accuracy.add_top("accuracy");
  accuracy.add_include()->set_phase(caffe::TEST);
  *net.add_layer() = accuracy;
  return "accuracy";
}

bool pool_globally(NetParameter& net, const std::vector<int>& heads) {
  bool any = false;
  for (const int head : heads) {
    for (int at = before(net, head); at >= 0; at = before(net, at)) {
      LayerParameter& layer = *net.mutable_layer(at);
      const bool passes = layer.type() == "Dropout" || layer.type() == "Flatten" || layer.type() == "Reshape";
      if (passes) continue;
      if (layer.type() != "Pooling" || layer.pooling_param().pool() != caffe::PoolingParameter::AVE) break;
      caffe::PoolingParameter global;
      global.set_pool(caffe::PoolingParameter::AVE);
      global.set_global_pooling(true);
      *layer.mutable_pooling_param() = global;
      any = true;
      break;
    }
  }
  return any;
}

}  // namespace cortado::tools
