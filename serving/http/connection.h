#pragma once

// One client connection: a coroutine on the server's I/O thread that reads requests, calls the handler and writes
// replies. Only `Call::answer` may be called from other threads.

// clang-format off: Boost 1.74 requires this include first
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
#include <future>
#include <memory>
#include <optional>

#include "http/server.h"

namespace cortado::http {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;

/// Owned by everything through which other threads use the io_context. `gone` is set after the last use.
struct Presence {
  ~Presence() { gone.set_value(); }
  std::promise<void> gone;
};

/// State shared by all connections.
struct Host {
  Limits limits;
  Handler& handler;
  MemoryBudget& budget;
  bool draining = false;
  std::shared_ptr<Presence> presence = std::make_shared<Presence>();
};

/// The server's view of a connection: its deadline, and how to close it.
class OpenConnection {
 public:
  using Time = std::chrono::steady_clock::time_point;

  virtual ~OpenConnection() = default;
  virtual asio::awaitable<void> serve() = 0;  ///< runs until the connection is closed; does not throw
  virtual tcp::socket& socket() = 0;

  void shut();  ///< cancels its pending operation
  bool is_over(Time now) const { return deadline_ <= now; }
  bool is_idle();  ///< between requests, with no byte of the next one received
  /// Since when it has waited for the head of a request to be complete, so that it may be closed for another
  /// connection; Time::max() while a request is read further, computed or answered.
  Time waits_since();

 protected:
  void allow(std::chrono::seconds time) { deadline_ = std::chrono::steady_clock::now() + time; }
  void allow_any_time() { deadline_ = Time::max(); }
  void begin_waiting() { waits_since_ = std::chrono::steady_clock::now(); }
  void end_waiting() { waits_since_ = Time::max(); }

  bool idle_ = true;

 private:
  Time deadline_ = Time::max(), waits_since_ = std::chrono::steady_clock::now();
};

/// Uses TLS if `tls` is not null.
std::shared_ptr<OpenConnection> make_connection(tcp::socket socket, Host& host, asio::ssl::context* tls);

}  // namespace cortado::http
