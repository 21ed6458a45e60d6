#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "server/rest/infer_message.h"
#include "server/rest/model_json.h"

namespace cortado::server {

namespace {

[[noreturn]] void refuse_request(const std::string& why) { throw RequestError(Refusal::kInvalid, why); }

uint64_t whole_number(std::string_view text, const char* header) {
  uint64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size())
    refuse_request(std::string(header) + ": '" + std::string(text.substr(0, 40)) + "' is not a non-negative integer");
  return value;
}

using IsOfType = bool (nlohmann::json::*)() const noexcept;

/// An optional member of an object. `path` is that of the object with its separator, for errors.
const nlohmann::json* member(const nlohmann::json& object, const char* name, IsOfType is, const char* type,
                             std::string_view path) {
  const auto found = object.find(name);
  if (found == object.end()) return nullptr;
  if (!((*found).*is)()) refuse_request(std::string(path) + name + " is not of type " + type);
  return &*found;
}

/// Likewise, but the member must exist.
const nlohmann::json& needed(const nlohmann::json& object, const char* name, IsOfType is, const char* type,
                             std::string_view path) {
  const nlohmann::json* found = member(object, name, is, type, path);
  if (!found) refuse_request(std::string(path) + name + " is missing");
  return *found;
}

std::string name_in(const nlohmann::json& tensor, const std::string& path) {
  if (!tensor.is_object()) refuse_request(path + " is not an object");
  return needed(tensor, "name", &nlohmann::json::is_string, "string", path + ".").get<std::string>();
}

std::vector<int64_t> shape_in(const nlohmann::json& tensor, const std::string& path) {
  const nlohmann::json& list = needed(tensor, "shape", &nlohmann::json::is_array, "list", path + ".");
  if (list.size() > size_t(Shape::kMaxAxes))
    refuse_request(path + ".shape has " + std::to_string(list.size()) + " extents, above the limit of " +
                   std::to_string(Shape::kMaxAxes));
  std::vector<int64_t> dims;
  for (const nlohmann::json& extent : list) {
    if (!extent.is_number_unsigned() || extent.get<uint64_t>() > (uint64_t(1) << 40))
      refuse_request(path + ".shape has an invalid extent");
    dims.push_back(extent.get<int64_t>());
  }
  return dims;
}

/// "parameters" of a request or tensor, or an empty object.
nlohmann::json parameters_in(const nlohmann::json& object, const std::string& path) {
  const nlohmann::json* found = member(object, "parameters", &nlohmann::json::is_object, "object", path);
  return found ? *found : nlohmann::json::object();
}

std::optional<uint64_t> number_in(const nlohmann::json& parameters, const char* name, const std::string& path) {
  const nlohmann::json* found = member(parameters, name, &nlohmann::json::is_number_unsigned, "unsigned integer", path);
  return found ? std::optional(found->get<uint64_t>()) : std::nullopt;
}

bool flag_in(const nlohmann::json& parameters, const char* name, bool fallback, const std::string& path) {
  const nlohmann::json* found = member(parameters, name, &nlohmann::json::is_boolean, "boolean", path);
  return found ? found->get<bool>() : fallback;
}

/// The bytes after the JSON, which are taken in order.
class BinaryPart {
 public:
  explicit BinaryPart(std::string_view bytes) : rest_(bytes) {}

  std::vector<float> take(uint64_t size, int64_t count, const std::string& path) {
    if (size != uint64_t(count) * sizeof(float))
      refuse_request(path + " has " + std::to_string(size) + " bytes, but its shape requires " +
                     std::to_string(uint64_t(count) * sizeof(float)));
    if (size > rest_.size()) refuse_request(path + ": the body ends before its " + std::to_string(size) + " bytes");
    std::vector<float> values(static_cast<size_t>(count));
    std::memcpy(values.data(), rest_.data(), size);
    rest_.remove_prefix(size);
    return values;
  }
  void check_empty() const {
    if (!rest_.empty()) refuse_request(std::to_string(rest_.size()) + " bytes of the body do not belong to an input");
  }

 private:
  std::string_view rest_;
};

class InferReader {
 public:
  InferReader(const Call& call, const Version& version) : version_(version), binary_("") {
    const std::string_view body = call.body;
    const std::string_view size_field = call.head.field("Inference-Header-Content-Length");
    const uint64_t json_size =
        size_field.empty() ? body.size() : whole_number(size_field, "Inference-Header-Content-Length");
    if (json_size > body.size()) refuse_request("Inference-Header-Content-Length is greater than the body");
    binary_ = BinaryPart(body.substr(json_size));
    parsed_ = parse_bounded(body.substr(0, json_size));
    if (!parsed_.tree.is_object()) refuse_request("the request is not a JSON object");
  }

  RequestPtr read(AnswerForm& form) {
    auto request = std::make_shared<Request>();
    const nlohmann::json& tree = parsed_.tree;
    if (const nlohmann::json* id = member(tree, "id", &nlohmann::json::is_string, "string", ""))
      form.id = id->get<std::string>();
    const nlohmann::json parameters = parameters_in(tree, "");
    form.all_binary = flag_in(parameters, "binary_data_output", false, "parameters.");
    if (const auto timeout = number_in(parameters, "timeout", "parameters."))
      if (*timeout > 0) set_timeout(*request, std::chrono::microseconds(std::min(*timeout, kLongest)));
    const nlohmann::json& inputs = needed(tree, "inputs", &nlohmann::json::is_array, "list", "");
    for (size_t i = 0; i < inputs.size(); ++i) read_input(inputs[i], "inputs[" + std::to_string(i) + "]", *request);
    binary_.check_empty();
    if (const nlohmann::json* outputs = member(tree, "outputs", &nlohmann::json::is_array, "list", ""))
      for (size_t i = 0; i < outputs->size(); ++i)
        read_output((*outputs)[i], "outputs[" + std::to_string(i) + "]", *request, form);
    return request;
  }

  static void set_timeout(Request& request, std::chrono::microseconds timeout) {
    request.deadline = request.arrived + timeout;
  }
  static constexpr uint64_t kLongest = uint64_t(86'400'000'000);  ///< microseconds: a day

 private:
  void read_input(const nlohmann::json& tensor, const std::string& path, Request& request) {
    const std::string name = name_in(tensor, path);
    const TensorSpec* spec = version_.input(name);
    if (!spec) refuse_request("'" + name + "' is not an input of the model");
    const nlohmann::json& type = needed(tensor, "datatype", &nlohmann::json::is_string, "string", path + ".");
    if (type != "FP32")
      refuse_request("input '" + name + "' has datatype " + type.get<std::string>() + ", but must be FP32");
    const std::vector<int64_t> dims = shape_in(tensor, path);
    version_.check_shape(*spec, dims);
    Array array{Shape(dims), {}};
    if (request.inputs.contains(name)) refuse_request("input '" + name + "' is duplicate");
    array.values = values_of(tensor, array.shape.count(), path);
    request.inputs[name] = std::move(array);
  }

  std::vector<float> values_of(const nlohmann::json& tensor, int64_t count, const std::string& path) {
    const auto size = number_in(parameters_in(tensor, path + "."), "binary_data_size", path + ".parameters.");
    if (size && tensor.contains("data")) refuse_request(path + " has both data and binary_data_size");
    if (size) return binary_.take(*size, count, path);
    const nlohmann::json& data = needed(tensor, "data", &nlohmann::json::is_number_unsigned, "list", path + ".");
    const auto index = data.get<uint64_t>();
    if (index >= parsed_.data.size()) refuse_request(path + ".data is not a list");
    std::vector<float> values = std::move(parsed_.data[index]);
    if (int64_t(values.size()) != count)
      refuse_request(path + ".data has " + std::to_string(values.size()) + " values, but its shape requires " +
                     std::to_string(count));
    return values;
  }

  static void read_output(const nlohmann::json& tensor, const std::string& path, Request& request, AnswerForm& form) {
    const std::string name = name_in(tensor, path);
    const nlohmann::json parameters = parameters_in(tensor, path + ".");
    if (parameters.contains("classification"))
      refuse_request(path + ": classification is not supported; use /v1/classify");
    if (std::find(request.outputs.begin(), request.outputs.end(), name) != request.outputs.end())
      refuse_request("output '" + name + "' is duplicate");
    request.outputs.push_back(name);
    if (flag_in(parameters, "binary_data", form.all_binary, path + ".parameters.")) form.binary.push_back(name);
  }

  const Version& version_;
  ParsedJson parsed_;
  BinaryPart binary_;
};

}  // namespace

RequestPtr read_infer(const Call& call, const Version& version, AnswerForm& form) {
  RequestPtr request = InferReader(call, version).read(form);
  if (const std::string_view timeout = call.head.field("X-Timeout-Ms"); !timeout.empty()) {
    const uint64_t ms = std::min(whole_number(timeout, "X-Timeout-Ms"), InferReader::kLongest / 1000);
    InferReader::set_timeout(*request, std::chrono::milliseconds(ms));
  }
  if (request->outputs.empty() && form.all_binary)
    for (const TensorSpec& output : version.outputs()) form.binary.push_back(output.name);
  request->client_is_gone = call.client_is_gone;
  request->memory = call.memory;
  return request;
}

}  // namespace cortado::server
