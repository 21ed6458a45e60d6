#include <gtest/gtest.h>

#include "http/message.h"
#include "http/request_error.h"

namespace cortado::http {
namespace {

TEST(Percent, IsDecoded) {
  EXPECT_EQ(percent_decoded("a%20b%2Fc%2f+%25"), "a b/c/+%");
  EXPECT_EQ(query_decoded("a+b%2B"), "a b+");
  EXPECT_EQ(percent_decoded(""), "");
  for (const char* wrong : {"%", "%4", "a%4", "%zz", "%-1", "%+1", "% 1", "%0x"})
    EXPECT_THROW(percent_decoded(wrong), RequestError) << wrong;
}

/// An escaped slash does not separate segments.
TEST(Percent, IsDecodedInParts) {
  std::vector<std::string> parts;
  EXPECT_TRUE(matches("/v2/models/*/ready", "/v2/%6dodels/a%20b%2Fc/ready", parts));
  EXPECT_EQ(parts, std::vector<std::string>{"a b/c"});
  EXPECT_FALSE(matches("/v2/models/*/ready", "/v2/models%2Fa/ready", parts));
  EXPECT_THROW(matches("/v2/models/*", "/v2/models/%zz", parts), RequestError);
}

}  // namespace
}  // namespace cortado::http
