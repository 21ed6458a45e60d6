// The head of an HTTP request, with its path and query.
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "http/head.h"
#include "http/message.h"
#include "tests/fuzz/fuzzed.h"

void cortado::fuzz::fuzz(std::string_view input) {
  boost::beast::http::request_parser<boost::beast::http::string_body> parser;
  parser.header_limit(16 << 10);
  parser.body_limit(1 << 20);
  parser.eager(true);
  boost::system::error_code error;
  parser.put(boost::asio::buffer(input.data(), input.size()), error);
  if (!parser.is_header_done()) return;
  try {
    const http::Head head = http::head_of(parser.get());
    std::vector<std::string> parts;
    http::matches("/v2/models/*/versions/*/infer", head.path, parts);
    head.field("Content-Type");
  } catch (const http::RequestError&) {
  }
}
