#include "server/server.h"

#include <array>
#include <csignal>
#include <cstring>
#include <thread>

#include "core/log.h"
#include "core/process/signal_waiter.h"
#include "http/server.h"
#include "server/grpc/grpc_server.h"
#include "server/models/repository.h"
#include "server/rest/api.h"
#include "server/token.h"

namespace cortado::server {

namespace {

constexpr std::array kEndSignals = {SIGTERM, SIGINT};

http::Limits limits_of(const tools::Arguments& arguments) {
  const auto seconds = [&](const char* flag) { return std::chrono::seconds(arguments.integer(flag)); };
  http::Limits limits;
  limits.body_bytes = uint64_t(arguments.integer("max-body")) << 20;
  limits.connections = size_t(arguments.integer("max-connections"));
  limits.header_time = seconds("header-timeout");
  limits.body_time = seconds("body-timeout");
  limits.idle_time = seconds("idle-timeout");
  limits.drain_time = seconds("drain-timeout");
  return limits;
}

std::unique_ptr<GrpcServer> start_grpc(const tools::Arguments& arguments, Repository& repository, const Token& token,
                                       http::MemoryBudget& budget) {
  const int64_t port = arguments.integer("grpc-port");
  if (port < 0) return nullptr;
  const GrpcLimits limits{arguments.integer("max-body") << 20, arguments.integer("max-memory") << 20};
  const GrpcTls tls{arguments.text("tls-cert"), arguments.text("tls-key")};
  return std::make_unique<GrpcServer>(arguments.text("host"), uint16_t(port), tls, limits, repository, token, budget);
}

std::string address_text(const std::string& host, int port) {
  return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + std::to_string(port);
}

bool is_local_only(const tools::Arguments& arguments) {
  const std::string host = arguments.text("host");
  return host.starts_with("127.") || host == "::1";
}

http::Origins origins_of(const tools::Arguments& arguments) {
  return {arguments.texts("allow-origin"),
          {.tls = !arguments.text("tls-cert").empty(),
           .token = !arguments.text("token-file").empty(),
           .local_only = is_local_only(arguments)}};
}

/// Warns if other machines can connect without a token or without TLS.
void warn_of_open_access(const tools::Arguments& arguments) {
  if (is_local_only(arguments)) return;
  const std::string host = arguments.text("host");
  if (arguments.text("token-file").empty())
    log_warning() << "other machines can reach " << host
                  << ", and requests need no token; require one with --token-file=FILE";
  if (arguments.text("tls-cert").empty())
    log_warning() << "other machines can reach " << host
                  << " without TLS, so requests are not encrypted; set --tls-cert=FILE and --tls-key=FILE";
}

}  // namespace

int run_server(const tools::Arguments& arguments) {
  const SignalWaiter signals(kEndSignals);
  const Token token(arguments.text("token-file"));
  http::Origins origins = origins_of(arguments);
  warn_of_open_access(arguments);
  const std::string host = arguments.text("host");
  const http::TlsFiles tls{arguments.text("tls-cert"), arguments.text("tls-key")};
  http::MemoryBudget budget(arguments.integer("max-memory") << 20);
  Metrics metrics;
  Repository repository(arguments, metrics);
  Api api(repository, metrics, token, std::move(origins));
  http::Server server(host, uint16_t(arguments.integer("port")), tls, limits_of(arguments), api, budget);
  api.set_connections([&server] { return server.connections(); });
  const std::unique_ptr<GrpcServer> grpc = start_grpc(arguments, repository, token, budget);
  log_info() << "HTTP on " << (tls.key.empty() ? "http://" : "https://") << address_text(host, server.port());
  if (grpc) log_info() << "gRPC on " << address_text(host, grpc->port());
  std::thread watch([&] {
    log_info() << strsignal(signals.wait()) << ": finishing accepted requests";
    api.set_draining();
    server.drain();
    if (grpc) grpc->drain(std::chrono::seconds(arguments.integer("drain-timeout")));
  });
  server.run();
  watch.join();
  repository.close();
  return 0;
}

}  // namespace cortado::server
