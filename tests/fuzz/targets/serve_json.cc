// An inference request in JSON. A number before the first zero byte is the value of the header that has the length of
// the JSON part.
#include "server/rest/infer_message.h"
#include "tests/fuzz/fuzzed.h"
#include "tests/fuzz/served.h"

void cortado::fuzz::fuzz(std::string_view input) {
  using namespace server;
  Call call;
  if (input.find('\0') < 20) call.head.fields.emplace_back("Inference-Header-Content-Length", take_text(input));
  call.body = input;
  try {
    AnswerForm form;
    const RequestPtr request = read_infer(call, served_version(), form);
    served_version().check(*request);
    infer_reply("model", "1", request->inputs, form);
  } catch (const RequestError&) {
  }
}
