#pragma once

// The layers of a trained net before its last one, when the net is fine-tuned.

#include <memory>
#include <string>
#include <vector>

#include "proto/files/read_text.h"
#include "tools/starter/choice.h"

namespace cortado::tools {

enum class Trunk {
  kAuto,    ///< by the number of images
  kFrozen,  ///< not trained: fast, and cannot overfit
  kSlow     ///< trained at a tenth of the new layers' rate
};

/// The value of --trunk: auto, frozen or slow.
Trunk trunk_named(const std::string& name);

/// Replaces kAuto by the choice for a number of training images, and explains it in `choices`.
Trunk choose_trunk(Trunk wanted, int64_t images, Choices& choices);

/// Prepares the layers of `net` that are not `heads` (indices of layers). All normalise by their stored averages: a
/// short training does not renew them. Frozen ones get lr_mult: 0. `file` is the same net, complete with its data.
void prepare_trunk(caffe::NetParameter& net, const std::vector<int>& heads, const std::shared_ptr<const NetFile>& file,
                   Trunk trunk);

}  // namespace cortado::tools
