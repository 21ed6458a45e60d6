#pragma once

#include <memory>
#include <string>
#include <vector>

#include "net/predictor.h"
#include "tools/options/flags.h"

namespace cortado::tools {

/// A net to run, not to train: phase TEST unless `options` says otherwise, no gradients, weights copied from the files
/// in order. No files is allowed only where the net has no weights, or was read from an ONNX model; throws
/// Error(kUsage) otherwise.
std::unique_ptr<Net> make_frozen_net(std::shared_ptr<const NetFile> file, graph::BuildOptions options,
                                     const std::vector<std::string>& weights, Context& context);

/// The same net, with its weights, for the last records of its set, which fill no batch of `net`.
std::unique_ptr<Net> make_frozen_tail(const std::shared_ptr<const NetFile>& file, graph::BuildOptions options, Net& net,
                                      int64_t records);

/// Where, how and in which state the flags want a net to predict; phase TEST.
PredictorOptions predictor_options(const Arguments& arguments);

/// A score as logs show it: "%g" with six digits, and "nan" without a sign.
std::string score_text(double value);

}  // namespace cortado::tools
