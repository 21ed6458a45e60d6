#include "http/server.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <set>

#include "core/error.h"
#include "core/log.h"
#include "http/connection.h"

namespace cortado::http {

namespace {

using boost::system::error_code;

constexpr std::chrono::milliseconds kSweep(250), kPauseWithoutDescriptors(100), kMoment(50);

std::unique_ptr<asio::ssl::context> read_tls(const TlsFiles& files) {
  if (files.certificates.empty() && files.key.empty()) return nullptr;
  if (files.certificates.empty() || files.key.empty())
    throw Error(ExitCode::kUsage, "--tls-cert and --tls-key require each other");
  auto tls = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_server);
  error_code error;
  SSL_CTX_set_min_proto_version(tls->native_handle(), TLS1_2_VERSION);
  tls->use_certificate_chain_file(files.certificates, error);
  if (error) throw Error(ExitCode::kIo, "--tls-cert=" + files.certificates + ": " + error.message());
  tls->use_private_key_file(files.key, asio::ssl::context::pem, error);
  if (error) throw Error(ExitCode::kIo, "--tls-key=" + files.key + ": " + error.message());
  if (SSL_CTX_check_private_key(tls->native_handle()) != 1)
    throw Error(ExitCode::kUsage, "--tls-key=" + files.key + " does not match the certificate " + files.certificates);
  return tls;
}

}  // namespace

struct Server::Impl {
  Impl(const Limits& limits, Handler& handler, MemoryBudget& budget, const TlsFiles& files)
      : host{limits, handler, budget}, tls(read_tls(files)), acceptor(io), sweeper(io) {}

  void listen(const std::string& name, uint16_t port) {
    error_code error;
    const auto address = asio::ip::make_address(name, error);
    if (error)
      throw Error(ExitCode::kUsage, "--host=" + name + " is not an IP address",
                  "use for example 127.0.0.1, 0.0.0.0 or ::1");
    const tcp::endpoint endpoint(address, port);
    acceptor.open(endpoint.protocol(), error);
    if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor.bind(endpoint, error);
    if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (error)
      throw Error(ExitCode::kIo, "cannot listen on " + name + " port " + std::to_string(port) + ": " + error.message(),
                  "choose another port with --port=N");
  }

  asio::awaitable<void> accept() {
    while (acceptor.is_open()) {
      error_code error;
      tcp::socket socket = co_await acceptor.async_accept(asio::redirect_error(asio::use_awaitable, error));
      if (!error) {
        admit(std::move(socket));
      } else if (acceptor.is_open()) {  // most likely out of file descriptors
        asio::steady_timer pause(io, kPauseWithoutDescriptors);
        co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
      }
    }
  }

  void admit(tcp::socket socket) {
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    if (open.size() >= host.limits.connections && !close_longest_waiting()) {
      constexpr std::string_view kFull =
          "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n"
          "Connection: close\r\n\r\n";
      socket.non_blocking(true, ignored);
      if (!tls) socket.write_some(asio::buffer(kFull.data(), kFull.size()), ignored);
      return;
    }
    const auto connection = make_connection(std::move(socket), host, tls.get());
    open.insert(connection);
    count = open.size();
    asio::co_spawn(io, connection->serve(), [this, connection](const std::exception_ptr&) {
      open.erase(connection);
      count = open.size();
      if (host.draining && open.empty()) io.stop();
    });
  }

  /// Makes room, so that clients that connect and send no request cannot keep others out. Returns false if the
  /// connections have requests. A few that have waited only for a moment are about to have one.
  bool close_longest_waiting() {
    std::shared_ptr<OpenConnection> longest;
    OpenConnection::Time since = OpenConnection::Time::max();
    size_t waiting = 0;
    for (const auto& connection : open) {
      const OpenConnection::Time time = connection->waits_since();
      if (time == OpenConnection::Time::max()) continue;
      ++waiting;
      if (time >= since) continue;
      since = time;
      longest = connection;
    }
    const bool is_moment = std::chrono::steady_clock::now() - since < kMoment;
    if (!longest || (is_moment && waiting <= open.size() / 4)) return false;
    longest->shut();
    return true;
  }

  asio::awaitable<void> sweep() {
    for (;;) {
      sweeper.expires_after(kSweep);
      error_code ignored;
      co_await sweeper.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
      const auto now = std::chrono::steady_clock::now();
      for (const auto& connection : open)
        if (connection->is_over(now) || (host.draining && (now >= last_moment || connection->is_idle())))
          connection->shut();
    }
  }

  void start_draining() {
    error_code ignored;
    host.draining = true;
    last_moment = std::chrono::steady_clock::now() + host.limits.drain_time;
    acceptor.close(ignored);
    for (const auto& connection : open)
      if (connection->is_idle()) connection->shut();
    if (open.empty()) io.stop();
  }

  asio::io_context io{1};
  Host host;
  std::unique_ptr<asio::ssl::context> tls;
  tcp::acceptor acceptor;
  asio::steady_timer sweeper;
  std::set<std::shared_ptr<OpenConnection>> open;
  std::atomic<size_t> count = 0;
  std::chrono::steady_clock::time_point last_moment{};
};

Server::Server(const std::string& host, uint16_t port, const TlsFiles& tls, const Limits& limits, Handler& handler,
               MemoryBudget& budget)
    : impl_(std::make_unique<Impl>(limits, handler, budget, tls)) {
  impl_->listen(host, port);
}

Server::~Server() = default;

uint16_t Server::port() const { return impl_->acceptor.local_endpoint().port(); }

size_t Server::connections() const { return impl_->count; }

void Server::run() {
  asio::co_spawn(impl_->io, impl_->accept(), asio::detached);
  asio::co_spawn(impl_->io, impl_->sweep(), asio::detached);
  impl_->io.run();
  std::future<void> gone = impl_->host.presence->gone.get_future();
  impl_->host.presence.reset();
  gone.wait();  // for threads that have answered the last requests and not yet released them
}

void Server::drain() {
  asio::post(impl_->io, [this] { impl_->start_draining(); });
}

}  // namespace cortado::http
