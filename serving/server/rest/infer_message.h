#pragma once

// Inference requests and answers of the Open Inference Protocol, version 2, in JSON with optional binary tensors. The
// body begins with JSON of Inference-Header-Content-Length bytes. The values of the tensors that have
// "binary_data_size" follow, little-endian, in their order.

#include <string>
#include <vector>

#include "server/models/version.h"
#include "server/server_names.h"

namespace cortado::server {

/// The format of the answer.
struct AnswerForm {
  std::string id;
  std::vector<std::string> binary;  ///< outputs that are written in binary after the JSON
  bool all_binary = false;          ///< also for outputs that the request does not list
};

/// Reads `call` as a request for `version`; its deadline is the parameter "timeout" (microseconds) or the header
/// X-Timeout-Ms. Throws RequestError(kInvalid).
RequestPtr read_infer(const Call& call, const Version& version, AnswerForm& form);

Reply infer_reply(const std::string& model, const std::string& number, const Arrays& outputs, const AnswerForm& form);

}  // namespace cortado::server
