#include "server/rest/model_json.h"

#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/shape.h"
#include "server/models/description.h"
#include "server/server_names.h"

namespace cortado::server {

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using Json = nlohmann::ordered_json;

Json scalar_json(const Message& message, const FieldDescriptor& field) {
  const Reflection& values = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return values.GetString(message, &field);
    case FieldDescriptor::CPPTYPE_ENUM:
      return values.GetEnum(message, &field)->name();
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return json_of(values.GetMessage(message, &field));
    case FieldDescriptor::CPPTYPE_INT32:
      return values.GetInt32(message, &field);
    case FieldDescriptor::CPPTYPE_INT64:
      return values.GetInt64(message, &field);
    case FieldDescriptor::CPPTYPE_UINT32:
      return values.GetUInt32(message, &field);
    case FieldDescriptor::CPPTYPE_UINT64:
      return values.GetUInt64(message, &field);
    default:
      throw_internal("a description has a field of an unsupported type: " + field.full_name());
  }
}

Json list_json(const Message& message, const FieldDescriptor& field) {
  const Reflection& values = *message.GetReflection();
  Json list = Json::array();
  for (int i = 0; i < values.FieldSize(message, &field); ++i) {
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
      list.push_back(json_of(values.GetRepeatedMessage(message, &field, i)));
    else if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING)
      list.push_back(values.GetRepeatedString(message, &field, i));
    else
      list.push_back(values.GetRepeatedInt64(message, &field, i));
  }
  return list;
}

nlohmann::json object_in(std::string_view body) {
  if (body.empty()) return nlohmann::json::object();
  nlohmann::json tree = parse_bounded(body).tree;
  if (!tree.is_object()) throw RequestError(Refusal::kInvalid, "the request is not a JSON object");
  return tree;
}

}  // namespace

Json json_of(const Message& message) {
  Json object = Json::object();
  const google::protobuf::Descriptor& fields = *message.GetDescriptor();
  for (int i = 0; i < fields.field_count(); ++i) {
    const FieldDescriptor& field = *fields.field(i);
    if (field.is_repeated())
      object[field.name()] = list_json(message, field);
    else if (!field.has_presence() || message.GetReflection()->HasField(message, &field))
      object[field.name()] = scalar_json(message, field);
  }
  return object;
}

Json seen_json(const Version& version, const Arrays& outputs, Clock::duration took) {
  const ImageReader& reader = *version.image_reader();
  Json list = Json::array();
  for (const Seen& seen : reader.seen(outputs.at(reader.output()))) {
    Json one = {{"label", seen.label}, {"name", seen.name}};
    one[reader.finds_objects() ? "score" : "probability"] = seen.score;
    if (reader.finds_objects()) one["box"] = {seen.box.x0, seen.box.y0, seen.box.x1, seen.box.y1};
    list.push_back(one);
  }
  return {{"model", version.model()},
          {"version", version.number()},
          {"milliseconds", std::chrono::duration<double, std::milli>(took).count()},
          {reader.finds_objects() ? "objects" : "top", list}};
}

bool wants_ready_only(std::string_view body) {
  const nlohmann::json request = object_in(body);
  const auto ready = request.find("ready");
  if (ready == request.end()) return false;
  if (!ready->is_boolean()) throw RequestError(Refusal::kInvalid, "ready is not a boolean");
  return ready->get<bool>();
}

void check_load_parameters(std::string_view body) {
  const nlohmann::json request = object_in(body);
  const auto parameters = request.find("parameters");
  if (parameters == request.end()) return;
  for (const auto& [name, value] : parameters->items()) check_load_parameter(name);
}

namespace {

constexpr size_t kMaxDepth = 16, kMaxNodes = 20000, kMaxText = 4096;
constexpr int kMaxDataDepth = Shape::kMaxAxes;

[[noreturn]] void refuse_json(const std::string& why) { throw RequestError(Refusal::kInvalid, "the JSON " + why); }

class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  ParsedJson take() { return std::move(parsed_); }

  bool null() override { return add(nullptr), true; }
  bool boolean(bool value) override { return add(value), true; }
  bool number_integer(number_integer_t value) override { return number(double(value), value); }
  bool number_unsigned(number_unsigned_t value) override { return number(double(value), value); }
  bool number_float(number_float_t value, const string_t&) override { return number(value, value); }
  bool string(string_t& value) override {
    if (value.size() > kMaxText)
      refuse_json("has a string of " + std::to_string(value.size()) + " bytes, above the limit of " +
                  std::to_string(kMaxText));
    return add(std::move(value)), true;
  }
  bool binary(binary_t&) override { return false; }
  bool key(string_t& name) override {
    if (name.size() > kMaxText)
      refuse_json("has a name of " + std::to_string(name.size()) + " bytes, above the limit of " +
                  std::to_string(kMaxText));
    return key_ = std::move(name), true;
  }
  bool start_object(size_t) override { return open(nlohmann::json::object()); }
  bool end_object() override { return open_.pop_back(), true; }
  bool start_array(size_t) override {
    if (data_depth_ > 0 || (key_ == "data" && !open_.empty() && open_.back()->is_object())) return start_data();
    return open(nlohmann::json::array());
  }
  bool end_array() override {
    if (data_depth_ > 0)
      --data_depth_;
    else
      open_.pop_back();
    return true;
  }
  bool parse_error(size_t place, const std::string&, const nlohmann::detail::exception&) override {
    refuse_json("is invalid at byte " + std::to_string(place));
  }

 private:
  template <typename T>
  bool number(double value, T as_it_is) {
    if (data_depth_ == 0) return add(as_it_is), true;
    if (std::fabs(value) > double(std::numeric_limits<float>::max()))
      refuse_json("has a number above the range of 32-bit floats");
    parsed_.data.back().push_back(float(value));
    return true;
  }

  bool start_data() {
    if (++data_depth_ > kMaxDataDepth) refuse_json("nests data more than " + std::to_string(kMaxDataDepth) + " deep");
    if (data_depth_ > 1) return true;
    data_depth_ = 0;  // add() refuses values in data
    add(parsed_.data.size());
    data_depth_ = 1;
    parsed_.data.emplace_back();
    return true;
  }

  nlohmann::json& add(nlohmann::json value) {
    if (data_depth_ > 0) refuse_json("has a value in data that is not a number");
    if (++nodes_ > kMaxNodes) refuse_json("has more than " + std::to_string(kMaxNodes) + " values outside of data");
    if (open_.empty()) return parsed_.tree = std::move(value);
    nlohmann::json& parent = *open_.back();
    if (parent.is_object()) return parent[key_] = std::move(value);
    parent.push_back(std::move(value));
    return parent.back();
  }

  bool open(nlohmann::json empty) {
    nlohmann::json& added = add(std::move(empty));
    open_.push_back(&added);
    key_.clear();
    if (open_.size() > kMaxDepth) refuse_json("is nested more than " + std::to_string(kMaxDepth) + " deep");
    return true;
  }

  ParsedJson parsed_;
  std::vector<nlohmann::json*> open_;  ///< open containers, the outermost first; only the last one grows
  std::string key_;
  size_t nodes_ = 0;
  int data_depth_ = 0;
};

}  // namespace

ParsedJson parse_bounded(std::string_view text) {
  Builder builder;
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) refuse_json("is invalid");
  return builder.take();
}

}  // namespace cortado::server
