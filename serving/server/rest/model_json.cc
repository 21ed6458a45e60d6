#include "server/rest/model_json.h"

#include "core/error.h"
#include "server/models/description.h"
#include "server/rest/bounded_json.h"

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
      throw_internal("a description has a field of another type: " + field.full_name());
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
  if (!tree.is_object()) throw RequestError(Refusal::kInvalid, "the request is no JSON object");
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
  if (!ready->is_boolean()) throw RequestError(Refusal::kInvalid, "ready is no boolean");
  return ready->get<bool>();
}

void check_load_parameters(std::string_view body) {
  const nlohmann::json request = object_in(body);
  const auto parameters = request.find("parameters");
  if (parameters == request.end()) return;
  for (const auto& [name, value] : parameters->items()) check_load_parameter(name);
}

}  // namespace cortado::server
