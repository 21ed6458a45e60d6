#include "studio/studio.h"

#include <array>
#include <csignal>
#include <cstring>
#include <iostream>
#include <thread>

#include "core/log.h"
#include "core/process/signal_waiter.h"
#include "http/memory_budget.h"
#include "http/secret.h"
#include "http/server.h"
#include "studio/access.h"
#include "studio/api.h"
#include "studio/remains.h"

namespace cortado::studio {

namespace {

constexpr std::array kEndSignals = {SIGTERM, SIGINT, SIGHUP};
constexpr const char* kHost = "127.0.0.1";

http::Limits limits_of(const tools::Arguments& arguments) {
  http::Limits limits;
  limits.body_bytes = uint64_t(arguments.integer("max-body")) << 20;
  limits.connections = 256;
  limits.drain_time = std::chrono::seconds(5);
  return limits;
}

/// Random if none is given.
std::string token_of(const tools::Arguments& arguments) {
  const std::string token = arguments.text("token"), file = arguments.text("token-file");
  if (arguments.has("token") && arguments.has("token-file"))
    throw tools::usage_error("--token and --token-file exclude each other");
  if (arguments.has("token-file")) return http::token_of_file(file);
  if (token.empty()) return http::random_secret();
  http::check_token(token, "--token");
  return token;
}

}  // namespace

int run_studio(const tools::Arguments& arguments) {
  const SignalWaiter signals(kEndSignals);
  Access access(token_of(arguments));
  Workplace place(arguments.text("folder"));
  remove_remains(place.folder);
  const http::Limits limits = limits_of(arguments);
  http::MemoryBudget budget(int64_t(limits.body_bytes) * 8);
  Api api(place, access);
  http::Server server(kHost, uint16_t(arguments.integer("port")), {}, limits, api, budget);
  access.set_port(server.port());
  log_info() << "studio folder: " << place.folder.root();
  std::cout << access.address() << std::endl;
  std::thread watch([&] {
    log_info() << strsignal(signals.wait()) << ": the studio exits; trainings continue";
    server.drain();
  });
  server.run();
  watch.join();
  return 0;
}

}  // namespace cortado::studio
