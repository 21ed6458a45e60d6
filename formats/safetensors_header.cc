// A SAX parser reads the header: a JSON tree would take many times the size of a hostile header.
#include "formats/safetensors_header.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace cortado {

namespace {

using Json = nlohmann::json;

constexpr size_t kMaxTensors = 1'000'000;

/// Accepts only {name: {"dtype": string, "shape": [numbers], "data_offsets": [2 numbers]}, "__metadata__": {string:
/// string}}. Each event returns false to stop, with the reason in `error`.
class HeaderEvents : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderEvents(SafetensorsHeader& header) : header_(header) {}

  std::string error;

  bool start_object(size_t) override {
    if (++depth_ > 2 || list_) return stop("an object nested in a tensor's");
    seen_ = 0;
    return true;
  }
  bool end_object() override {
    --depth_;
    if (depth_ == 1 && !metadata_ && seen_ != (kDtype | kShape | kOffsets))
      return stop("dtype, shape and data_offsets are required");
    return true;
  }
  bool key(std::string& name) override { return depth_ == 1 ? begin_tensor(name) : begin_field(name); }
  bool string(std::string& value) override {
    if (depth_ == 2 && metadata_) return header_.metadata.emplace(key_, value).second || stop("duplicate metadata key");
    if (depth_ != 2 || field_ != kDtype) return stop("an unexpected string");
    seen_ |= kDtype;
    header_.tensors.back().dtype = value;
    return true;
  }
  bool start_array(size_t) override {
    if (depth_ != 2 || metadata_ || list_ || (field_ != kShape && field_ != kOffsets))
      return stop("an unexpected list");
    list_ = true;
    numbers_ = 0;
    return true;
  }
  bool end_array() override {
    list_ = false;
    seen_ |= field_;
    return field_ == kShape || numbers_ == 2 || stop("data_offsets must be two numbers");
  }
  bool number_unsigned(uint64_t value) override {
    if (!list_ || value > uint64_t(INT64_MAX)) return stop("an unexpected number");
    TensorPlace& tensor = header_.tensors.back();
    if (field_ == kShape) {
      if (tensor.shape.axes() == Shape::kMaxAxes) return stop("more than 32 axes");
      std::vector<int64_t> dims = tensor.shape.dims();
      dims.push_back(int64_t(value));
      tensor.shape = Shape(std::move(dims));
    } else {
      if (numbers_ > 1) return stop("data_offsets must be two numbers");
      (numbers_ == 0 ? tensor.begin : tensor.end) = value;
    }
    ++numbers_;
    return true;
  }
  bool number_integer(int64_t) override { return stop("a negative number"); }
  bool number_float(double, const std::string&) override { return stop("a number that is not an integer"); }
  bool boolean(bool) override { return stop("an unexpected boolean"); }
  bool null() override { return stop("an unexpected null"); }
  bool binary(Json::binary_t&) override { return stop("unexpected binary data"); }
  bool parse_error(size_t at, const std::string&, const nlohmann::detail::exception&) override {
    error = "the header is not valid JSON at byte " + std::to_string(8 + at);
    return false;
  }

 private:
  enum Field { kNone = 0, kDtype = 1, kShape = 2, kOffsets = 4 };

  bool begin_tensor(const std::string& name) {
    metadata_ = name == "__metadata__";
    if (metadata_) return true;
    if (header_.tensors.size() == kMaxTensors) return stop("too many tensors");
    header_.tensors.push_back({.name = name, .dtype = {}, .shape = {}});
    return true;
  }
  bool begin_field(const std::string& name) {
    key_ = name;
    if (metadata_) return true;
    field_ = name == "dtype" ? kDtype : name == "shape" ? kShape : name == "data_offsets" ? kOffsets : kNone;
    if (field_ == kNone) return stop("'" + name.substr(0, 50) + "' is not a field of a tensor");
    return (seen_ & field_) == 0 || stop("'" + name + "' is duplicate");
  }
  bool stop(const std::string& why) {
    const std::string tensor =
        header_.tensors.empty() ? "" : ", near tensor '" + header_.tensors.back().name.substr(0, 100) + "'";
    error = "invalid header" + tensor + ": " + why;
    return false;
  }

  SafetensorsHeader& header_;
  int depth_ = 0, field_ = kNone, seen_ = 0;
  size_t numbers_ = 0;
  bool metadata_ = false, list_ = false;
  std::string key_;
};

void check_places(const WireFile& file, SafetensorsHeader& header) {
  auto& tensors = header.tensors;
  std::vector<const std::string*> names;
  for (const TensorPlace& tensor : tensors) names.push_back(&tensor.name);
  std::sort(names.begin(), names.end(), [](auto a, auto b) { return *a < *b; });
  const auto twice = std::adjacent_find(names.begin(), names.end(), [](auto a, auto b) { return *a == *b; });
  if (twice != names.end()) file.fail("tensor '" + **twice + "' is duplicate");
  // An empty tensor begins at the same offset as the next one.
  std::stable_sort(tensors.begin(), tensors.end(),
                   [](const auto& a, const auto& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  uint64_t end = 0;
  for (const TensorPlace& tensor : tensors) {
    if (tensor.end < tensor.begin) file.fail("tensor '" + tensor.name + "' has an end before its begin");
    if (tensor.begin != end)
      file.fail("tensor '" + tensor.name + (tensor.begin < end ? "' overlaps another" : "' has a gap before it"));
    end = tensor.end;
  }
  const std::string have = std::to_string(header.values.size()), want = std::to_string(end);
  if (end > header.values.size())
    file.fail("truncated: " + have + " bytes of values, but the header describes " + want);
  if (end < header.values.size()) file.fail(have + " bytes of values, but the header describes only " + want);
}

}  // namespace

SafetensorsHeader read_safetensors_header(const WireFile& file) {
  const std::string_view content = file.content;
  if (content.size() < 8) file.fail("truncated at byte " + std::to_string(content.size()) + " of 8");
  uint64_t length = 0;
  std::memcpy(&length, content.data(), sizeof length);
  if (length > kMaxHeaderBytes)
    file.fail("the header has " + std::to_string(length) + " bytes, but the limit is " +
              std::to_string(kMaxHeaderBytes));
  if (length > content.size() - 8)
    file.fail("truncated at byte " + std::to_string(content.size()) + " of " + std::to_string(length + 8));
  const std::string_view text = content.substr(8, length);
  SafetensorsHeader header;
  header.values = content.substr(8 + length);
  if (text.empty() || text.front() != '{') file.fail("the header does not begin with '{'");
  HeaderEvents events(header);
  if (!Json::sax_parse(text.begin(), text.end(), &events)) file.fail(events.error);
  check_places(file, header);
  return header;
}

}  // namespace cortado
