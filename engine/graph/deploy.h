#pragma once

// Converts a net for training and testing into one for inference: drops what needs labels, and outputs what the losses
// compare with labels.

#include <map>
#include <string>
#include <vector>

#include "core/shape.h"
#include "proto/files/read_text.h"

namespace cortado::graph {

struct DeployOptions {
  caffe::NetState state;                   ///< level and stages; the phase is TEST
  std::map<std::string, Shape> shapes;     ///< of inputs, by blob; "": the only input. Others are inferred
  std::map<std::string, Shape> trained{};  ///< shapes that inputs had in a training, where they cannot be inferred
  std::vector<std::string> outputs;  ///< requested blobs; none: inferred from losses or, without any, from Accuracy
};

struct Deployed {
  caffe::NetParameter net;
  std::vector<std::string> inputs, outputs;  ///< blobs
  std::vector<std::string> notes;            ///< remarks on the choices, one line each
};

/// The net of phase TEST with Input layers in place of its data layers, and Softmax or Sigmoid in place of the losses
/// that contain them. It has only the layers that the outputs need, without learning rates, fillers, and phase rules.
/// Of several losses on the same labels the one with the largest weight is used; of equal ones, the last. Throws
/// Error(kUsage) for unknown outputs and where an input's shape cannot be inferred; Error(kNet) for an empty net.
Deployed make_deploy_net(const NetFile& file, const DeployOptions& options);

/// The shape, for one sample, of top `top` of the file's data layer `index`: from its options, the dataset, or the mean
/// file. Throws Error(kUsage) where none of them has it.
Shape sample_shape(const NetFile& file, int index, const std::string& top);

/// The rows of a batch of that top, as the file's data layer makes it; 0 if unknown.
int64_t written_batch(const NetFile& file, int index, const std::string& top);

}  // namespace cortado::graph
