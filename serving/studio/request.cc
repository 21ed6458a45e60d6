#include "studio/request.h"

#include <algorithm>
#include <charconv>

#include "core/text/json.h"
#include "http/message.h"

namespace cortado::studio {

using http::Refusal;
using http::RequestError;

namespace {

[[noreturn]] void refuse(const char* name, const char* expected) {
  throw RequestError(Refusal::kInvalid, std::string(name) + " must be " + expected);
}

int64_t whole_number(const std::string& name, std::string_view text, int64_t fallback) {
  if (text.empty()) return fallback;
  int64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size() || value < 0)
    refuse(name.c_str(), "a non-negative integer");
  return value;
}

const Json* member(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

}  // namespace

std::string Request::parameter(const std::string& name) const {
  const auto found = call_.head.query.find(name);
  return found == call_.head.query.end() ? "" : http::query_decoded(found->second);
}

int64_t Request::number(const std::string& name, int64_t fallback) const {
  return whole_number(name, parameter(name), fallback);
}

std::vector<int64_t> Request::numbers(const std::string& name) const {
  std::vector<int64_t> all;
  const std::string text = parameter(name);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    all.push_back(whole_number(name, std::string_view(text).substr(begin, end - begin), 0));
    begin = end + 1;
  }
  return all;
}

int64_t Request::header_number(const std::string& name, int64_t fallback) const {
  return whole_number(name, call_.head.field(name), fallback);
}

Json Request::body() const {
  Json parsed = parse_json_or_null<Json>(call_.body);
  if (parsed.is_object()) return parsed;
  throw RequestError(Refusal::kInvalid, "the request is not a JSON object");
}

std::string text_in(const Json& object, const char* name, const std::string& fallback) {
  const Json* const found = member(object, name);
  if (!found) return fallback;
  if (!found->is_string()) refuse(name, "a string");
  return found->get<std::string>();
}

double number_in(const Json& object, const char* name, double fallback) {
  const Json* const found = member(object, name);
  if (!found) return fallback;
  if (!found->is_number()) refuse(name, "a number");
  return found->get<double>();
}

bool flag_in(const Json& object, const char* name, bool fallback) {
  const Json* const found = member(object, name);
  if (!found) return fallback;
  if (!found->is_boolean()) refuse(name, "true or false");
  return found->get<bool>();
}

std::vector<std::string> texts_in(const Json& object, const char* name) {
  const Json* const found = member(object, name);
  std::vector<std::string> texts;
  if (!found) return texts;
  if (!found->is_array()) refuse(name, "a list of strings");
  for (const Json& one : *found) {
    if (!one.is_string()) refuse(name, "a list of strings");
    texts.push_back(one.get<std::string>());
  }
  return texts;
}

std::string dump(const Json& body) { return dumped_json(body); }

http::Reply json_reply(const Json& body) { return {.body = dump(body)}; }

}  // namespace cortado::studio
