#include "formats/tensor_header.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/error.h"
#include "core/field_text.h"
#include "core/text/json.h"

namespace cortado {

namespace {

using nlohmann::json;

template <typename T>
void widen(const char* bytes, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) {
    T value;
    std::memcpy(&value, bytes + i * int64_t(sizeof(T)), sizeof(T));
    out[i] = float(value);
  }
}

struct Type {
  int64_t bytes;
  void (*to_floats)(const char*, int64_t, float*);
};

const std::map<std::string_view, Type>& types() {
  static const std::map<std::string_view, Type> table = {
      {"F64", {8, widen<double>}},   {"F32", {4, widen<float>}},    {"I64", {8, widen<int64_t>}},
      {"U64", {8, widen<uint64_t>}}, {"I32", {4, widen<int32_t>}},  {"U32", {4, widen<uint32_t>}},
      {"I16", {2, widen<int16_t>}},  {"U16", {2, widen<uint16_t>}}, {"I8", {1, widen<int8_t>}},
      {"U8", {1, widen<uint8_t>}},   {"STR", {1, widen<uint8_t>}}};
  return table;
}

[[noreturn]] void refuse_header(const std::string& name, const std::string& why) {
  throw std::invalid_argument("tensor '" + name + "': " + why);
}

/// The entry and the offset of its values.
std::pair<int64_t, TensorEntry> parse_entry(const std::string& name, const json& value) {
  TensorEntry entry{name, value.at("dtype").get<std::string>(), Shape(value.at("shape").get<std::vector<int64_t>>())};
  const auto offsets = value.at("data_offsets").get<std::vector<int64_t>>();
  if (tensor_value_bytes(entry.type) == 0) refuse_header(name, "unknown type '" + entry.type + "'");
  if (entry.shape.axes() > Shape::kMaxAxes)
    refuse_header(name, "it has " + std::to_string(entry.shape.axes()) + " axes, above the limit of " +
                            std::to_string(Shape::kMaxAxes));
  for (const int64_t dim : entry.shape.dims())
    if (dim < 0) refuse_header(name, "a negative extent");
  if (offsets.size() != 2 || offsets[0] < 0 || offsets[1] < offsets[0] || offsets[1] - offsets[0] != entry.bytes())
    refuse_header(name, "the number of bytes does not match the shape");
  return {offsets[0], entry};
}

}  // namespace

int64_t TensorEntry::bytes() const { return checked_mul(shape.count(), tensor_value_bytes(type)); }

int64_t tensor_value_bytes(std::string_view type) {
  const auto found = types().find(type);
  return found == types().end() ? 0 : found->second.bytes;
}

std::string tensor_header(const std::vector<TensorEntry>& entries) {
  json object = json::object();
  int64_t offset = 0;
  for (const TensorEntry& entry : entries) {
    const int64_t end = offset + entry.bytes();
    object[entry.name] = {{"dtype", entry.type}, {"shape", entry.shape.dims()}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  if (object.size() != entries.size()) throw std::invalid_argument("two tensors have the same name");
  std::string text;
  try {
    text = object.dump();
  } catch (const json::exception&) {
    throw std::invalid_argument("a name is not UTF-8");
  }
  std::string head(8, '\0');
  for (size_t i = 0; i < 8; ++i) head[i] = char(uint64_t(text.size()) >> 8 * i);
  return head + text;
}

uint64_t tensor_header_length(std::string_view eight) {
  uint64_t length = 0;
  for (size_t i = 0; i < 8; ++i) length |= uint64_t(uint8_t(eight[i])) << 8 * i;
  return length;
}

std::vector<TensorEntry> parse_tensor_header(std::string_view text) {
  std::vector<std::pair<int64_t, TensorEntry>> placed;
  try {
    const json object = parse_json<json>(text);
    if (!object.is_object()) throw std::invalid_argument("the header is not a JSON object");
    for (const auto& [name, value] : object.items())
      if (name != "__metadata__") placed.push_back(parse_entry(name, value));
  } catch (const JsonError& error) {
    throw std::invalid_argument(std::string("invalid tensor header: ") + error.what());
  } catch (const json::exception&) {
    throw std::invalid_argument("invalid tensor header");
  } catch (const FieldError& error) {
    throw std::invalid_argument(with_field(error));
  }
  // Empty tensors begin at the same offset as the next one.
  std::sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second.bytes() < b.second.bytes();
  });
  std::vector<TensorEntry> entries;
  int64_t offset = 0;
  for (auto& [begin, entry] : placed) {
    if (begin != offset) refuse_header(entry.name, "a gap before its values");
    offset += entry.bytes();
    entries.push_back(std::move(entry));
  }
  return entries;
}

void tensor_to_floats(std::string_view type, const char* bytes, int64_t n, float* out) {
  types().at(type).to_floats(bytes, n, out);
}

}  // namespace cortado
