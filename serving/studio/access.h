#pragma once

#include <cstdint>
#include <string>

#include "http/message.h"

namespace cortado::studio {

/// Who may ask: whoever knows the token, from this machine, and from no page but the studio's own.
class Access {
 public:
  /// `token`: "" draws one. Throws Error(kUsage) for one that can be guessed.
  explicit Access(const std::string& token);

  void set_port(uint16_t port);  ///< before requests come
  std::string address() const;   ///< with the token, to be opened in a browser

  /// Throws RequestError: kForbidden for another host's name (a name that an attacker pointed here) or another page's
  /// request, kUnauthorized without the token.
  void check(const http::Head& head) const;
  /// For a GET of the first page alone: the token may stand in the address. Whether it does, and is right; throws as
  /// check() does about hosts and pages.
  bool brings_token(const http::Head& head) const;
  /// The value of Set-Cookie, which keeps the token out of later addresses.
  std::string cookie() const;

 private:
  void check_origin(const http::Head& head) const;
  bool knows_token(const http::Head& head) const;
  std::string cookie_name() const;

  std::string token_, port_;
};

}  // namespace cortado::studio
