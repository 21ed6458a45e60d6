#pragma once

// Which web pages may send requests. A browser sends any page's requests to this machine, with the user's access to it,
// and names the page in Origin. A page can also point a name of its own at this machine (DNS rebinding): then Origin is
// the server's own, and only Host shows the other name. Programs send no Origin.

#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"

namespace cortado::http {

/// Throws RequestError(kForbidden) for a page of another origin than `scheme`://Host.
void check_same_origin(const Head& head, std::string_view scheme);

/// The pages whose requests a server answers: its own, and those of listed origins, which get CORS headers.
class Origins {
 public:
  struct Server {
    bool tls = false;
    bool token = false;       ///< requests that do anything need one
    bool local_only = false;  ///< listens on this machine only
  };
  /// `others` are "SCHEME://HOST[:PORT]". Throws Error(kUsage) for anything else.
  Origins(const std::vector<std::string>& others, Server server);

  /// Throws RequestError(kForbidden) for other pages, and for host names that may be another page's: with TLS or a
  /// token none can be; otherwise IP addresses, names without a dot and those of listed origins are not. Programs
  /// may use any name of a server that other machines can reach.
  void check(const Head& head) const;

  /// Whether it is a listed page's question whether it may send a request; answer_preflight() is the answer.
  bool is_preflight(const Head& head) const;
  static Reply answer_preflight(const Head& head);
  /// Lets a listed page read the reply.
  void add_headers(const Head& head, Reply& reply) const;

 private:
  bool is_listed(std::string_view origin) const;
  bool is_safe_host(std::string_view host) const;

  std::vector<std::string> others_;
  Server server_;
};

}  // namespace cortado::http
