#pragma once

// A net for training and testing made one to use: what needs labels goes, what the losses compared with labels comes
// out.

#include <map>
#include <string>
#include <vector>

#include "core/shape.h"
#include "proto/files/read_text.h"

namespace cortado::graph {

struct DeployOptions {
  caffe::NetState state;                ///< level and stages; the phase is TEST
  std::map<std::string, Shape> shapes;  ///< of inputs by blob; "" stands for the only one. Others are found out
  std::vector<std::string> outputs;     ///< blobs wanted; none: what losses (or, without any, Accuracy) look at
};

struct Deployed {
  caffe::NetParameter net;
  std::vector<std::string> inputs, outputs;  ///< blobs
  std::vector<std::string> notes;            ///< remarks on the choices, a line each
};

/// The net of phase TEST with Input layers in the place of its data layers, Softmax or Sigmoid in the place of the
/// losses that have them in them, and only the layers that these need; without rates, fillers, and rules of phases. Of
/// several losses on the same labels the one with the largest weight counts, of equal ones the last. Throws
/// Error(kUsage) for outputs that there are not and where an input's shape cannot be found out; Error(kNet) for a net
/// of nothing.
Deployed make_deploy_net(const NetFile& file, const DeployOptions& options);

/// The shape that the data layer `index` of the file gives its top `top`, for one sample, told by its options, the
/// dataset, or the mean file. Throws Error(kUsage) where neither tells.
Shape sample_shape(const NetFile& file, int index, const std::string& top);

}  // namespace cortado::graph
