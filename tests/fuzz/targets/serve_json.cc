// Requests in JSON: inference, index, load. A number before the first zero byte is the value of the header that has the
// length of the JSON part.
#include "server/rest/infer_message.h"
#include "server/rest/model_json.h"
#include "tests/fuzz/fuzzed.h"
#include "tests/fuzz/refusal.h"
#include "tests/fuzz/served.h"

void cortado::fuzz::fuzz(std::string_view input) {
  using namespace server;
  Call call;
  if (input.find('\0') < 20) call.head.fields.emplace_back("Inference-Header-Content-Length", take_text(input));
  call.body = input;
  expect_refusal([&] {
    AnswerForm form;
    const RequestPtr request = read_infer(call, served_version(), form);
    served_version().check(*request);
    infer_reply("model", "1", request->inputs, form);
  });
  expect_refusal([&] { wants_ready_only(input); });
  expect_refusal([&] { check_load_parameters(input); });
}
