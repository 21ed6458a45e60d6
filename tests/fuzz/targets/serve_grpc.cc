// An inference request over gRPC: parses the message, and reads its inputs.
#include "server/grpc/messages.h"
#include "tests/fuzz/fuzzed.h"
#include "tests/fuzz/refusal.h"
#include "tests/fuzz/served.h"

void cortado::fuzz::fuzz(std::string_view input) {
  inference::ModelInferRequest message;
  if (!message.ParseFromArray(input.data(), int(input.size()))) return;
  expect_refusal([&] {
    server::Request request;
    server::read_inputs(message, served_version(), request);
    served_version().check(request);
  });
}
