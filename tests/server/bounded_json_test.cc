// Untrusted JSON: accepted and refused inputs.

#include <gtest/gtest.h>

#include "server/rest/model_json.h"
#include "server/server_names.h"

namespace cortado::server {
namespace {

std::string refusal(const std::string& text) {
  try {
    parse_bounded(text);
    return "";
  } catch (const RequestError& error) {
    return error.what();
  }
}

std::string repeated(const std::string& text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

TEST(BoundedJson, data_becomes_floats_in_order) {
  const ParsedJson parsed = parse_bounded(
      R"({"inputs": [{"name": "a", "data": [[1, -2.5], [3e2, 4]]}, {"data": [], "shape": [0]}], "id": "x"})");
  EXPECT_EQ(parsed.data, (std::vector<std::vector<float>>{{1, -2.5, 300, 4}, {}}));
  EXPECT_EQ(parsed.tree,
            nlohmann::json::parse(R"({"inputs": [{"name": "a", "data": 0}, {"data": 1, "shape": [0]}], "id": "x"})"));
}

TEST(BoundedJson, other_values_are_a_tree) {
  const std::string text = R"({"a": [1, -1, 2.5, true, null, "data", {"b": {"c": []}}], "d": {}, "data": {"e": [1]}})";
  EXPECT_EQ(parse_bounded(text).tree, nlohmann::json::parse(text));
  EXPECT_EQ(parse_bounded("[[1], [2, [3]]]").tree, nlohmann::json::parse("[[1], [2, [3]]]"));
  EXPECT_EQ(parse_bounded("7").tree, 7);
}

TEST(BoundedJson, values_above_limits_are_refused) {
  EXPECT_NE(refusal(repeated("[", 1'000'000)), "");
  EXPECT_NE(refusal(repeated("{\"a\":", 1'000'000)), "");
  EXPECT_NE(refusal("{\"data\":" + repeated("[", 40) + repeated("]", 40) + "}"), "");
  EXPECT_EQ(refusal("{\"data\":" + repeated("[", 32) + repeated("]", 32) + "}"), "");
  EXPECT_NE(refusal("[" + repeated("1,", 20'001) + "1]"), "");
  EXPECT_EQ(refusal("{\"data\": [" + repeated("1,", 200'000) + "1]}"), "");
  EXPECT_NE(refusal("\"" + repeated("x", 5000) + "\""), "");
  EXPECT_NE(refusal("{\"" + repeated("x", 5000) + "\": 1}"), "");
}

TEST(BoundedJson, invalid_json_is_refused) {
  for (const char* text : {"", "{", "[1,]", "{\"a\" 1}", "nul", "{\"data\": [1", "{\"data\": [1, null]}", "01", "[1] 2",
                           "{\"data\": [true]}", "{\"data\": [\"1\"]}", "{\"data\": [{}]}", "{\"data\": [1e39]}",
                           "{\"data\": [-1e300]}", "{\"data\": [1e999]}", "{\"data\": [NaN]}", "\"\xff\""})
    EXPECT_NE(refusal(text), "") << text;
}

}  // namespace
}  // namespace cortado::server
