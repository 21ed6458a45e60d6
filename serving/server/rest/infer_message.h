#pragma once

// Inference requests and answers of the Open Inference Protocol, version 2, in JSON and with its binary tensors: the
// body begins with JSON of as many bytes as Inference-Header-Content-Length says, behind which lie the values of the
// tensors that have "binary_data_size", little-endian, in their order.

#include <string>
#include <vector>

#include "server/models/version.h"
#include "server/server_names.h"

namespace cortado::server {

/// How the answer is to be written.
struct AnswerForm {
  std::string id;
  std::vector<std::string> binary;  ///< the outputs that go behind the JSON
  bool all_binary = false;          ///< those that the request does not list
};

/// Reads `call` as a request for `version`; its deadline is the parameter "timeout" (microseconds) or the header
/// X-Timeout-Ms. Throws RequestError(kInvalid).
RequestPtr read_infer(const Call& call, const Version& version, AnswerForm& form);

Reply infer_reply(const std::string& model, const std::string& number, const Arrays& outputs, const AnswerForm& form);

}  // namespace cortado::server
