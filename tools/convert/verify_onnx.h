#pragma once

#include <memory>
#include <string>
#include <vector>

#include "proto/files/read_text.h"

namespace cortado::tools {

/// A net and an ONNX model that must compute the same.
struct ConvertedPair {
  std::shared_ptr<const NetFile> net;
  std::vector<std::string> weights;  ///< weight files; none: the net has no weights
  caffe::NetState state;
  std::string model;
};

struct VerifyOptions {
  double tolerance = 1e-4;          ///< of differences, as a share of an output's largest value
  std::vector<std::string> inputs;  ///< BLOB=FILE.npy; random values for the others
  std::string python;               ///< the Python that has ONNX Runtime; "": python3 in PATH, then /usr/bin/python3
};

/// Runs both on the same inputs, for the net's batch and for a batch of 3 if both accept it, and prints the largest
/// difference of each output. The model is run by ONNX Runtime or, if no Python has it, by this program's own reader.
/// Returns 0, or 1 if a difference is above the tolerance. Throws Error if one of them cannot be run.
int verify_conversion(const ConvertedPair& pair, const VerifyOptions& options);

}  // namespace cortado::tools
