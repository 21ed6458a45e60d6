#pragma once

#include <string>
#include <vector>

#include "proto/cortado.pb.h"
#include "tools/starter/choice.h"

namespace cortado::tools {

/// The index of the last layer before layer `at` that writes the blob; -1: none.
int maker_of(const caffe::NetParameter& net, const std::string& blob, int at);

/// The layers whose outputs SoftmaxWithLoss compares with labels: the index of an InnerProduct or Convolution for each
/// loss. Layers without weights between them (ReLU, pooling, Dropout) are skipped. Throws Error(kNet) if there are
/// none.
std::vector<int> head_layers(const caffe::NetParameter& net, const std::string& path);

/// Sets their number of outputs to `classes`. Removes top-k accuracies with k above half of `classes`. With `suffix`
/// the net is fine-tuned from weights: these layers start anew as NAME_SUFFIX, and learn `faster` times as fast as the
/// others.
Choices set_classes(caffe::NetParameter& net, const std::vector<int>& heads, int64_t classes, const std::string& suffix,
                    float faster);

/// The blob with the accuracy in testing: of the last Accuracy with top_k 1. Adds an Accuracy for the last loss if
/// there is none.
std::string accuracy_blob(caffe::NetParameter& net);

/// Makes average pooling before the heads global, so that images of any size fit. Returns whether there was such a
/// layer.
bool pool_globally(caffe::NetParameter& net, const std::vector<int>& heads);

}  // namespace cortado::tools
