#include "server/rest/bounded_json.h"

#include <cmath>
#include <limits>

#include "core/shape.h"
#include "server/http_names.h"

namespace cortado::server {

namespace {

constexpr size_t kMostDepth = 16, kMostNodes = 20000, kMostText = 4096;
constexpr int kMostDataDepth = Shape::kMaxAxes;

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
    if (value.size() > kMostText) refuse_json("has a text of " + std::to_string(value.size()) + " bytes");
    return add(std::move(value)), true;
  }
  bool binary(binary_t&) override { return false; }
  bool key(string_t& name) override {
    if (name.size() > kMostText) refuse_json("has a name of " + std::to_string(name.size()) + " bytes");
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
    refuse_json("is damaged at byte " + std::to_string(place));
  }

 private:
  template <typename T>
  bool number(double value, T as_it_is) {
    if (data_depth_ == 0) return add(as_it_is), true;
    if (std::fabs(value) > double(std::numeric_limits<float>::max()))
      refuse_json("has a number that is no 32-bit float");
    parsed_.data.back().push_back(float(value));
    return true;
  }

  bool start_data() {
    if (++data_depth_ > kMostDataDepth) refuse_json("nests data more than " + std::to_string(kMostDataDepth) + " deep");
    if (data_depth_ > 1) return true;
    data_depth_ = 0;  // add() is not for what lies in data
    add(parsed_.data.size());
    data_depth_ = 1;
    parsed_.data.emplace_back();
    return true;
  }

  nlohmann::json& add(nlohmann::json value) {
    if (data_depth_ > 0) refuse_json("has something in data that is no number");
    if (++nodes_ > kMostNodes) refuse_json("has more than " + std::to_string(kMostNodes) + " values outside of data");
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
    if (open_.size() > kMostDepth) refuse_json("is nested more than " + std::to_string(kMostDepth) + " deep");
    return true;
  }

  ParsedJson parsed_;
  std::vector<nlohmann::json*> open_;  ///< what is being filled, the outermost first; only the last one grows
  std::string key_;
  size_t nodes_ = 0;
  int data_depth_ = 0;
};

}  // namespace

ParsedJson parse_bounded(std::string_view text) {
  Builder builder;
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) refuse_json("is damaged");
  return builder.take();
}

}  // namespace cortado::server
