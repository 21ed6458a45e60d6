// Requests to the studio: a query and, after a zero byte, a body in JSON. A body that is accepted must be printed as
// JSON that is accepted.
#include <cstdlib>

#include "studio/request.h"
#include "tests/fuzz/fuzzed.h"
#include "tests/fuzz/refusal.h"

void cortado::fuzz::fuzz(std::string_view input) {
  using namespace studio;
  http::Call call;
  call.head.query["path"] = take_text(input);
  call.body = input;
  const Request request(call);
  expect_refusal([&] { request.parameter("path"); });
  expect_refusal([&] { request.number("path", 1); });
  expect_refusal([&] { request.numbers("path"); });
  Json body;
  expect_refusal([&] { body = request.body(); });
  if (!body.is_object()) return;
  for (const auto& member : body.items()) {
    const char* const name = member.key().c_str();
    expect_refusal([&] { text_in(body, name); });
    expect_refusal([&] { number_in(body, name, 0); });
    expect_refusal([&] { flag_in(body, name, false); });
    expect_refusal([&] { texts_in(body, name); });
  }
  http::Call again;
  again.body = dump(body);
  if (!Request(again).body().is_object()) std::abort();
}
