#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/text/json.h"

namespace cortado {
namespace {

using Json = nlohmann::json;

std::string nested(int depth) { return std::string(size_t(depth), '[') + std::string(size_t(depth), ']'); }

TEST(BoundedJson, BoundsDepth) {
  EXPECT_EQ(parse_json<Json>(nested(kMaxJsonDepth)), Json::parse(nested(kMaxJsonDepth)));
  EXPECT_THROW(parse_json<Json>(nested(kMaxJsonDepth + 1)), JsonError);
  EXPECT_THROW(parse_json<Json>(nested(100000)), JsonError);
  EXPECT_THROW(parse_json<Json>(std::string(100000, '[')), JsonError);
  EXPECT_TRUE(parse_json_or_null<nlohmann::ordered_json>(nested(100000)).is_null());
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  EXPECT_THROW(parse_json<Json>(objects), JsonError);
}

TEST(BoundedJson, IgnoresBracketsInStrings) {
  const std::string text = "[\"" + std::string(1000, '[') + R"(\"{\\", "\\\"[", 1])";
  EXPECT_EQ(parse_json<Json>(text), Json::parse(text));
  EXPECT_THROW(parse_json<Json>(R"(["\\", )" + nested(kMaxJsonDepth) + "]"), JsonError);
}

TEST(BoundedJson, SaysWhyWithoutTheNameOfAnException) {
  try {
    parse_json<Json>("[1e400]");
    FAIL();
  } catch (const JsonError& error) {
    EXPECT_EQ(error.what(), std::string("number overflow parsing '1e400'"));
  }
  EXPECT_EQ(json_reason("[json.exception.type_error.302] type must be string"), "type must be string");
  EXPECT_EQ(json_reason("[1] 2"), "[1] 2");
}

TEST(BoundedJson, RejectsInvalidJson) {
  for (const std::string text : {"", "[", "{\"a\"", "]]", "\"", "\"\\", "[1] 2"}) {
    EXPECT_THROW(parse_json<Json>(text), JsonError) << text;
    EXPECT_TRUE(parse_json_or_null<Json>(text).is_null()) << text;
  }
}

}  // namespace
}  // namespace cortado
