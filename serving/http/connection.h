#pragma once

// One client: reads a request, has it answered, writes the answer, again and again. A coroutine on the server's I/O
// thread; only `Call::answer` may be called elsewhere.

// clang-format off: Boost 1.74 needs it first and does not say so
#include <utility>
// clang-format on

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <memory>
#include <optional>

#include "http/server.h"

namespace cortado::http {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;

/// What connections share.
struct Host {
  Limits limits;
  Handler& handler;
  MemoryBudget& budget;
  bool draining = false;
};

/// A connection as the server keeps it: when it has to be closed, and how.
class OpenConnection {
 public:
  virtual ~OpenConnection() = default;
  virtual asio::awaitable<void> serve() = 0;  ///< until it ends; does not throw
  virtual tcp::socket& socket() = 0;

  void shut();  ///< ends what it waits for
  bool is_over(std::chrono::steady_clock::time_point now) const { return deadline_ <= now; }
  bool is_idle();  ///< between requests, and nothing of the next one is there

 protected:
  void allow(std::chrono::seconds time) { deadline_ = std::chrono::steady_clock::now() + time; }
  void allow_any_time() { deadline_ = std::chrono::steady_clock::time_point::max(); }

  bool idle_ = true;

 private:
  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::time_point::max();
};

/// With TLS where `tls` is given.
std::shared_ptr<OpenConnection> make_connection(tcp::socket socket, Host& host, asio::ssl::context* tls);

}  // namespace cortado::http
