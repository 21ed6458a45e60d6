// Heads of requests, path patterns, secrets.

#include "http/message.h"

#include <gtest/gtest.h>

#include "http/routes.h"
#include "http/secret.h"

namespace cortado::http {
namespace {

TEST(Head, fields_are_found_whatever_their_case) {
  const Head head{.fields = {{"HOST", "here"}, {"X-Timeout-Ms", "5"}, {"host", "there"}}};
  EXPECT_EQ(head.field("Host"), "here");  // the first one is used
  EXPECT_EQ(head.field("x-timeout-ms"), "5");
  EXPECT_EQ(head.field("Origin"), "");
}

TEST(PathPattern, a_star_is_one_segment) {
  std::vector<std::string> parts;
  EXPECT_TRUE(matches("/v2/models/*/versions/*", "/v2/models/a/versions/1", parts));
  EXPECT_EQ(parts, (std::vector<std::string>{"a", "1"}));
  for (const char* path : {"/v2/models", "/v2/models/", "/v2/models/a/b", "/v2/models//x", "v2/models/a", ""})
    EXPECT_FALSE(matches("/v2/models/*", path, parts)) << path;
}

TEST(Routes, the_first_that_takes_method_and_path_answers) {
  struct Route {
    const char *method, *path;
  };
  const std::vector<Route> routes = {{"GET", "/models/*"}, {"POST", "/models/*"}, {"GET", "/"}};
  std::vector<std::string> names;
  const auto refusal = [&](const char* method, const char* path) {
    try {
      route_of(routes, method, path, names);
    } catch (const RequestError& error) {
      return error.why();
    }
    return Refusal::kInternal;
  };
  EXPECT_EQ(&route_of(routes, "POST", "/models/a", names), &routes[1]);
  EXPECT_EQ(names, std::vector<std::string>{"a"});
  EXPECT_EQ(refusal("PUT", "/models/a"), Refusal::kNoMethod);
  EXPECT_EQ(refusal("GET", "/none"), Refusal::kNotFound);
}

TEST(Secret, only_equal_secrets_match) {
  const std::string secret = random_secret();
  EXPECT_EQ(secret.size(), 64);
  EXPECT_NE(secret, random_secret());
  EXPECT_TRUE(is_same_secret(secret, secret));
  EXPECT_FALSE(is_same_secret(secret.substr(1), secret));
  EXPECT_FALSE(is_same_secret(secret + "0", secret));
  EXPECT_FALSE(is_same_secret("", secret));
}

}  // namespace
}  // namespace cortado::http
