#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/text/json.h"
#include "server/rest/infer_message.h"

namespace cortado::server {

namespace {

std::string quoted(const std::string& text) { return dumped_json(nlohmann::json(text)); }

/// The shortest decimals that read back as the same floats; null for NaN and infinity.
void append_values(const std::vector<float>& values, std::string& out) {
  char digits[32];
  out += '[';
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out += ',';
    if (!std::isfinite(values[i])) {
      out += "null";
      continue;
    }
    const auto [end, status] = std::to_chars(digits, digits + sizeof digits, values[i]);
    out.append(digits, end);
  }
  out += ']';
}

void append_shape(const Shape& shape, std::string& out) {
  out += '[';
  for (int i = 0; i < shape.axes(); ++i) out += (i > 0 ? "," : "") + std::to_string(shape[i]);
  out += ']';
}

}  // namespace

Reply infer_reply(const std::string& model, const std::string& number, const Arrays& outputs, const AnswerForm& form) {
  Reply reply;
  std::string& body = reply.body;
  body = "{\"model_name\":" + quoted(model) + ",\"model_version\":" + quoted(number);
  if (!form.id.empty()) body += ",\"id\":" + quoted(form.id);
  body += ",\"outputs\":[";
  std::string bytes;
  for (const auto& [name, array] : outputs) {
    if (body.back() != '[') body += ',';
    body += "{\"name\":" + quoted(name) + ",\"datatype\":\"FP32\",\"shape\":";
    append_shape(array.shape, body);
    if (std::ranges::find(form.binary, name) == form.binary.end()) {
      body += ",\"data\":";
      append_values(array.values, body);
    } else {
      const size_t size = array.values.size() * sizeof(float);
      body += ",\"parameters\":{\"binary_data_size\":" + std::to_string(size) + "}";
      bytes.append(reinterpret_cast<const char*>(array.values.data()), size);
    }
    body += '}';
  }
  body += "]}";
  if (form.binary.empty()) return reply;
  reply.headers.emplace_back("Inference-Header-Content-Length", std::to_string(body.size()));
  reply.type = "application/octet-stream";
  body += bytes;
  return reply;
}

}  // namespace cortado::server
