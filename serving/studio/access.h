#pragma once

#include <cstdint>
#include <string>

#include "http/message.h"

namespace cortado::studio {

/// Access control: requests need the token, and must come from this machine and from the studio's own page.
class Access {
 public:
  explicit Access(std::string token);

  void set_port(uint16_t port);  ///< must be called before the first request
  std::string address() const;   ///< the URL with the token, for a browser

  /// Throws RequestError: kForbidden for another host name (DNS rebinding) or another page's origin, kUnauthorized
  /// without the token.
  void check(const http::Head& head) const;
  /// Whether the request is a GET of the first page with the right token in its URL. Throws like check() for wrong
  /// hosts and origins.
  bool brings_token(const http::Head& head) const;
  /// The value of Set-Cookie, which keeps the token out of later URLs.
  std::string cookie() const;

 private:
  void check_origin(const http::Head& head) const;
  bool knows_token(const http::Head& head) const;
  std::string cookie_name() const;

  std::string token_, port_;
};

}  // namespace cortado::studio
