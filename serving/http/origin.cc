#include "http/origin.h"

#include <arpa/inet.h>

#include <algorithm>

#include "core/error.h"
#include "core/text/text.h"

namespace cortado::http {

namespace {

constexpr std::string_view kHttp = "http://", kHttps = "https://";

bool only_reads(const Head& head) { return head.method == "GET" || head.method == "HEAD"; }

/// Without the port, and without the brackets of an IPv6 address.
std::string name_of(std::string_view host) {
  if (host.starts_with('[')) return std::string(host.substr(1, std::min(host.find(']'), host.size()) - 1));
  return std::string(host.substr(0, host.find(':')));
}

bool is_ip_address(const std::string& name) {
  in6_addr address{};
  return ::inet_pton(AF_INET, name.c_str(), &address) == 1 || ::inet_pton(AF_INET6, name.c_str(), &address) == 1;
}

bool is_port(std::string_view text) {
  return !text.empty() && text.size() <= 5 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Whether it is HOST or HOST:PORT, as an origin has them.
bool is_authority(std::string_view text) {
  const std::string name = name_of(text);
  const bool is_name = !name.empty() && std::ranges::all_of(name, [](char c) { return is_plain(c) || c == '.'; });
  if (text.starts_with('[') ? !is_ip_address(name) : !is_name) return false;
  if (text.starts_with('[')) {
    text.remove_prefix(name.size() + 1);
    if (!text.starts_with(']')) return false;
    text.remove_prefix(1);
  } else {
    text.remove_prefix(name.size());
  }
  return text.empty() || (text.starts_with(':') && is_port(text.substr(1)));
}

/// As browsers write it: lower case, without the scheme's own port.
std::string origin_of(const std::string& text) {
  std::string origin = lower_case(text);
  if (origin.ends_with('/')) origin.pop_back();
  const std::string_view scheme = origin.starts_with(kHttps) ? kHttps : kHttp;
  if (!origin.starts_with(scheme) || !is_authority(std::string_view(origin).substr(scheme.size())))
    throw Error(ExitCode::kUsage, "--allow-origin=" + text + " is not the origin of a page",
                "it has a scheme, a host and at most a port, for example https://page.example:8443");
  const std::string_view port = scheme == kHttps ? ":443" : ":80";
  if (origin.ends_with(port)) origin.resize(origin.size() - port.size());
  return origin;
}

RequestError other_origin() { return {Refusal::kForbidden, "requests from other origins are not allowed"}; }

}  // namespace

void check_same_origin(const Head& head, std::string_view scheme) {
  const std::string_view host = head.field("Host"), origin = head.field("Origin"), site = head.field("Sec-Fetch-Site");
  if (!origin.empty() && origin != std::string(scheme) + "://" + std::string(host)) throw other_origin();
  const bool is_own = site.empty() || site == "same-origin" || (site == "none" && only_reads(head));
  if (!is_own) throw other_origin();
}

Origins::Origins(const std::vector<std::string>& others, Server server) : server_(server) {
  for (const std::string& other : others) others_.push_back(origin_of(other));
}

void Origins::check(const Head& head) const {
  const std::string_view host = head.field("Host"), origin = head.field("Origin");
  if (is_listed(origin)) return;
  const bool is_link = head.method == "GET" && origin.empty() && head.field("Sec-Fetch-Mode") == "navigate";
  if (!is_link) check_same_origin(head, server_.tls ? "https" : "http");
  const bool is_page = !origin.empty() || !head.field("Sec-Fetch-Site").empty();
  if (!(is_page || server_.local_only) || is_safe_host(host)) return;
  const std::string wanted = "http://" + std::string(host);
  throw RequestError(Refusal::kForbidden, "the host '" + std::string(host) +
                                              "' may belong to another page; use an IP address or localhost, or start "
                                              "the server with --allow-origin=" +
                                              wanted);
}

bool Origins::is_listed(std::string_view origin) const { return std::ranges::find(others_, origin) != others_.end(); }

bool Origins::is_safe_host(std::string_view host) const {
  if (server_.tls || server_.token) return true;
  const std::string lower = lower_case(host), name = name_of(lower);
  if (name.find('.') == std::string::npos && !host.starts_with('[')) return true;
  if (name.ends_with(".localhost") || (is_authority(lower) && is_ip_address(name))) return true;
  return std::ranges::any_of(
      others_, [&](const std::string_view other) { return name_of(other.substr(other.find("//") + 2)) == name; });
}

bool Origins::is_preflight(const Head& head) const {
  return head.method == "OPTIONS" && !head.field("Access-Control-Request-Method").empty() &&
         is_listed(head.field("Origin"));
}

Reply Origins::answer_preflight(const Head& head) {
  Reply reply{.status = 204,
              .body = "",
              .headers = {{"Access-Control-Allow-Methods", "GET, HEAD, POST"}, {"Access-Control-Max-Age", "600"}}};
  const std::string_view fields = head.field("Access-Control-Request-Headers");
  if (!fields.empty()) reply.headers.emplace_back("Access-Control-Allow-Headers", fields);
  return reply;
}

void Origins::add_headers(const Head& head, Reply& reply) const {
  if (others_.empty()) return;
  reply.headers.emplace_back("Vary", "Origin");
  const std::string_view origin = head.field("Origin");
  if (!is_listed(origin)) return;
  reply.headers.emplace_back("Access-Control-Allow-Origin", origin);
  reply.headers.emplace_back("Access-Control-Expose-Headers", "Inference-Header-Content-Length, Retry-After");
}

}  // namespace cortado::http
