#include "http/origin.h"

#include <gtest/gtest.h>

#include "tests/harness/errors.h"

namespace cortado::http {
namespace {

Head request_to(const std::string& host, const std::string& origin = {}) {
  Head head;
  head.method = "POST";
  head.path = "/";
  head.fields = {{"Host", host}};
  if (!origin.empty()) head.fields.emplace_back("Origin", origin);
  return head;
}

bool is_served(const Origins& origins, const std::string& host, const std::string& origin = {}) {
  try {
    origins.check(request_to(host, origin));
  } catch (const RequestError&) {
    return false;
  }
  return true;
}

TEST(Origins, NamesThatMayBeOthersAreRefused) {
  const Origins origins({}, {.tls = false, .token = false, .local_only = true});
  for (const char* host : {"localhost:80", "127.0.0.1:8000", "[::1]:8000", "[::1]", "machine", "a.localhost:1"})
    EXPECT_TRUE(is_served(origins, host)) << host;
  for (const char* host : {"page.example:8000", "127.0.0.1.page.example", "[::1].page.example", "[page.example]:1"})
    EXPECT_FALSE(is_served(origins, host)) << host;
}

TEST(Origins, ListedPagesAreServed) {
  const Origins origins({"https://Page.example:8443/", "http://other.example:80", "http://[::1]:65535"}, {});
  for (const char* origin : {"https://page.example:8443", "http://other.example", "http://[::1]:65535"})
    EXPECT_TRUE(is_served(origins, "localhost", origin)) << origin;
  for (const char* origin : {"http://page.example:8443", "https://page.example", "https://other.example"})
    EXPECT_FALSE(is_served(origins, "localhost", origin)) << origin;
}

TEST(Origins, AreASchemeAHostAndAPort) {
  for (const char* text : {"http://a", "http://a:1", "https://a.b:65535", "http://[::1]", "http://[::1]:80"})
    EXPECT_NO_THROW(Origins({text}, {})) << text;
  for (const char* text : {"a", "ftp://a", "http://", "http://a:", "http://a:655350", "http://a:8o", "http://[::1",
                           "http://[a]", "http://a/b", "http://[::1]80"})
    expect_error([&] { Origins({text}, {}); }, ExitCode::kUsage, "is not the origin of a page");
}

}  // namespace
}  // namespace cortado::http
