#pragma once

#include <string>
#include <vector>

#include "proto/cortado.pb.h"
#include "tools/starter/choice.h"

namespace cortado::tools {

/// The last layer before layer `at` that makes the blob, by its place in the net; -1: none.
int maker_of(const caffe::NetParameter& net, const std::string& blob, int at);

/// The layers whose outputs SoftmaxWithLoss compares with labels: an InnerProduct or Convolution for each loss, by its
/// place in the net; what lies between and computes nothing by weights (ReLU, pooling, Dropout) is passed over. Throws
/// Error(kNet) where there is none.
std::vector<int> head_layers(const caffe::NetParameter& net, const std::string& path);

/// Gives them `classes` outputs; scores among more best ones than there are classes go. With `suffix` the net learns
/// on from weights: these layers begin anew, under NAME_SUFFIX, and learn `faster` times as fast as those before.
Choices set_classes(caffe::NetParameter& net, const std::vector<int>& heads, int64_t classes, const std::string& suffix,
                    float faster);

/// The blob with the share of right answers in testing: of the last Accuracy of the likeliest class. Where there is
/// none one is added for the last loss.
std::string accuracy_blob(caffe::NetParameter& net);

/// Makes average pooling before the heads global, so that images of any size do; whether there was such a layer.
bool pool_globally(caffe::NetParameter& net, const std::vector<int>& heads);

}  // namespace cortado::tools
