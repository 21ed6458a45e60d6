#include "http/head.h"

namespace cortado::http {

namespace {

constexpr size_t kMaxTarget = 2048;

std::map<std::string, std::string> query_of(std::string_view text) {
  std::map<std::string, std::string> query;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    const size_t equals = std::min(pair.find('='), pair.size());
    query[std::string(pair.substr(0, equals))] = pair.substr(std::min(equals + 1, pair.size()));
    text.remove_prefix(std::min(pair.size() + 1, text.size()));
  }
  return query;
}

std::vector<std::pair<std::string, std::string>> fields_of(const boost::beast::http::request_header<>& request) {
  std::vector<std::pair<std::string, std::string>> fields;
  for (const auto& field : request) {
    const auto name = field.name_string(), value = field.value();
    fields.emplace_back(std::string(name.data(), name.size()), std::string(value.data(), value.size()));
  }
  return fields;
}

}  // namespace

Head head_of(const boost::beast::http::request_header<>& request) {
  const std::string_view target(request.target().data(), request.target().size());
  if (target.empty() || target[0] != '/' || target.size() > kMaxTarget)
    throw RequestError(Refusal::kInvalid, "the target of the request is not a path");
  const size_t question = std::min(target.find('?'), target.size());
  const auto method = request.method_string();
  return {.method = {method.data(), method.size()},
          .path = std::string(target.substr(0, question)),
          .query = query_of(target.substr(std::min(question + 1, target.size()))),
          .fields = fields_of(request)};
}

}  // namespace cortado::http
