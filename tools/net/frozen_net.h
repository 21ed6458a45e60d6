#pragma once

#include <memory>
#include <string>
#include <vector>

#include "net/predictor.h"
#include "tools/options/flags.h"

namespace cortado::tools {

/// A net for inference: phase TEST unless `options` has another, no gradients, weights copied from the files in order.
/// Throws Error(kUsage) without files, unless the net has no weights or is an ONNX model.
std::unique_ptr<Net> make_frozen_net(std::shared_ptr<const NetFile> file, graph::BuildOptions options,
                                     const std::vector<std::string>& weights, Context& context);

/// The same net, sharing its weights, for the last records of its set, which do not fill a batch of `net`.
std::unique_ptr<Net> make_frozen_tail(const std::shared_ptr<const NetFile>& file, graph::BuildOptions options, Net& net,
                                      int64_t records);

/// The options for prediction that the flags select: model, device and net state; phase TEST.
PredictorOptions predictor_options(const Arguments& arguments);

/// A score as in logs: "%g" with six digits, and "nan" without a sign.
std::string score_text(double value);

}  // namespace cortado::tools
