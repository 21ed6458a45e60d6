#include "studio/access.h"

#include <algorithm>
#include <array>

#include "http/origin.h"
#include "http/secret.h"

namespace cortado::studio {

using http::Refusal;
using http::RequestError;

namespace {

/// The value of a cookie, or "".
std::string_view cookie_in(std::string_view all, std::string_view name) {
  while (!all.empty()) {
    std::string_view one = all.substr(0, all.find(';'));
    all.remove_prefix(std::min(one.size() + 1, all.size()));
    one.remove_prefix(std::min(one.find_first_not_of(' '), one.size()));
    if (one.size() > name.size() && one.starts_with(name) && one[name.size()] == '=')
      return one.substr(name.size() + 1);
  }
  return {};
}

}  // namespace

Access::Access(std::string token) : token_(std::move(token)) {}

void Access::set_port(uint16_t port) { port_ = std::to_string(port); }

std::string Access::address() const { return "http://127.0.0.1:" + port_ + "/?token=" + token_; }

void Access::check_origin(const http::Head& head) const {
  const std::array<std::string, 3> hosts = {"127.0.0.1:" + port_, "localhost:" + port_, "[::1]:" + port_};
  const std::string_view host = head.field("Host");
  if (std::ranges::find(hosts, host) == hosts.end())
    throw RequestError(Refusal::kForbidden, "the host must be 127.0.0.1:" + port_ + " or localhost:" + port_);
  http::check_same_origin(head, "http");
}

bool Access::knows_token(const http::Head& head) const {
  constexpr std::string_view kScheme = "Bearer ";
  const std::string_view authorization = head.field("Authorization");
  if (authorization.starts_with(kScheme) && http::is_same_secret(authorization.substr(kScheme.size()), token_))
    return true;
  return http::is_same_secret(cookie_in(head.field("Cookie"), cookie_name()), token_);
}

void Access::check(const http::Head& head) const {
  check_origin(head);
  if (!knows_token(head))
    throw RequestError(Refusal::kUnauthorized, "the token is missing; open the address that `cortado studio` printed");
}

bool Access::brings_token(const http::Head& head) const {
  if (head.method != "GET" || head.path != "/") return false;
  const auto found = head.query.find("token");
  if (found == head.query.end() || !http::is_same_secret(found->second, token_)) return false;
  const std::string_view host = head.field("Host");
  return host == "127.0.0.1:" + port_ || host == "localhost:" + port_ || host == "[::1]:" + port_;
}

std::string Access::cookie_name() const { return "cortado-studio-" + port_; }

std::string Access::cookie() const { return cookie_name() + "=" + token_ + "; Path=/; HttpOnly; SameSite=Strict"; }

}  // namespace cortado::studio
