// A rank for tests: `ranks_probe ENGINE ACTION`, started by an engine's own launcher, or several by `ranks_probe launch
// ENGINE N ACTION`. Exits with 1 if bytes are wrong. PROBE_STALL is the engine's limit in seconds, PROBE_FOLDER where
// signals are recorded. A fifth argument is another engine for the launched ranks.

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <vector>

#include "core/error.h"
#include "ranks/launch.h"
#include "ranks/open_engine.h"
#include "ranks/place.h"

namespace cortado::ranks {
namespace {

uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// A pseudo-random number that all ranks can compute, for a message between two of them.
uint64_t number(uint64_t round, int from, int to) {
  return mixed(mixed(mixed(round + 1) + uint64_t(from) + 1) + uint64_t(to) + 1);
}

std::byte byte_of(uint64_t key, size_t i) { return std::byte(mixed(key + i) & 255); }

void fill(std::byte* values, size_t bytes, uint64_t key) {
  for (size_t i = 0; i < bytes; ++i) values[i] = byte_of(key, i);
}

void check(const std::byte* values, size_t bytes, uint64_t key, const std::string& what) {
  for (size_t i = 0; i < bytes; ++i)
    if (values[i] != byte_of(key, i)) throw_internal(what + ": byte " + std::to_string(i) + " is wrong");
}

/// Random sizes: a third are empty, few are near `most`.
size_t size_of(uint64_t key, size_t most) {
  const uint64_t kind = key % 6, of = kind < 2 ? 0 : kind < 4 ? 100 : kind < 5 ? most / 10 : most;
  return of == 0 ? 0 : size_t(mixed(key) % of);
}

std::vector<size_t> places(int ranks, const std::function<size_t(int)>& size) {
  std::vector<size_t> at{0};
  for (int r = 0; r < ranks; ++r) at.push_back(at.back() + size(r));
  return at;
}

void check_all_to_all(Engine& engine, uint64_t round, size_t most) {
  const int self = engine.rank();
  const auto send_at = places(engine.ranks(), [&](int r) { return size_of(number(round, self, r), most); });
  const auto receive_at = places(engine.ranks(), [&](int r) { return size_of(number(round, r, self), most); });
  std::vector<std::byte> send(send_at.back()), receive(receive_at.back());
  for (int r = 0; r < engine.ranks(); ++r)
    fill(send.data() + send_at[r], send_at[r + 1] - send_at[r], number(round, self, r));
  engine.all_to_all(send.data(), send_at, receive.data(), receive_at);
  for (int r = 0; r < engine.ranks(); ++r)
    check(receive.data() + receive_at[r], receive_at[r + 1] - receive_at[r], number(round, r, self), "all_to_all");
}

void check_all_gather(Engine& engine, uint64_t round, size_t most) {
  const auto at = places(engine.ranks(), [&](int r) { return size_of(number(round, r, -1), most); });
  std::vector<std::byte> values(at.back());
  const size_t self = size_t(engine.rank());
  fill(values.data() + at[self], at[self + 1] - at[self], number(round, int(self), -1));
  engine.all_gather(values.data(), at);
  for (int r = 0; r < engine.ranks(); ++r)
    check(values.data() + at[r], at[r + 1] - at[r], number(round, r, -1), "all_gather");
}

void check_broadcast(Engine& engine, uint64_t round, size_t bytes, int root) {
  std::vector<std::byte> values(bytes);
  const uint64_t key = number(round, root, -2);
  if (engine.rank() == root) fill(values.data(), bytes, key);
  engine.broadcast(values.data(), bytes, root);
  check(values.data(), bytes, key, "broadcast from " + std::to_string(root));
}

void check_round(Engine& engine, uint64_t round, size_t most) {
  check_all_to_all(engine, round, most);
  check_all_gather(engine, round, most);
  check_broadcast(engine, round, size_of(number(round, -3, -3), most), int(round % uint64_t(engine.ranks())));
}

int report_success(Engine& engine) {
  engine.leave(0);
  if (engine.rank() == 0) std::cout << engine.name() << ", " << engine.ranks() << " ranks: well\n";
  return 0;
}

int exchange(Engine& engine) {
  for (int root = 0; root < engine.ranks(); ++root)
    for (const size_t bytes : {0, 1, 65536, 65537, 3000001}) check_broadcast(engine, bytes, bytes, root);
  for (uint64_t round = 0; round < 200; ++round) check_round(engine, round, round % 50 == 49 ? 4 << 20 : 20000);
  return report_success(engine);
}

/// Pieces that are split into several parts.
int large(Engine& engine) {
  check_broadcast(engine, 0, 80 << 20, engine.ranks() - 1);
  return report_success(engine);
}

/// Exchanges forever. After some exchanges, the last rank acts.
int until(Engine& engine, const std::function<void()>& fate) {
  for (uint64_t round = 0;; ++round) {
    if (round == 20 && engine.rank() == engine.ranks() - 1) fate();
    check_round(engine, round, 1000);
  }
}

int die(Engine& engine) {
  return until(engine, [] { ::kill(::getpid(), SIGKILL); });
}

int stop(Engine& engine) {
  return until(engine, [] { ::kill(::getpid(), SIGSTOP); });
}

int fail(Engine& engine) {
  return until(engine, [] { throw Error(ExitCode::kDiverged, "the loss is nan"); });
}

int leave_alone(Engine& engine) {
  return until(engine, [] { ::_exit(3); });
}

/// Each rank records the signals that it gets, until one ends it.
int signals(Engine& engine) {
  const std::string file = std::string(std::getenv("PROBE_FOLDER")) + "/" + std::to_string(engine.rank());
  sigset_t noted;
  ::sigemptyset(&noted);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) ::sigaddset(&noted, number);
  ::sigprocmask(SIG_BLOCK, &noted, nullptr);
  std::ofstream(file, std::ios::app) << "ready\n";
  for (int number = 0; number != SIGTERM;) {
    ::sigwait(&noted, &number);
    std::ofstream(file, std::ios::app) << "signal " << number << "\n";
  }
  engine.leave(0);
  return 128 + SIGTERM;
}

/// The last rank fails; the others notice nothing and ignore signals.
int deaf(Engine& engine) {
  if (engine.rank() == engine.ranks() - 1) ::_exit(3);
  for (::signal(SIGTERM, SIG_IGN);;) ::pause();
}

/// The last rank has no handler yet; the others wait forever and ignore signals.
int half_ready(Engine& engine) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP})
    ::signal(number, engine.rank() == engine.ranks() - 1 ? SIG_DFL : SIG_IGN);
  check_round(engine, 0, 1000);
  if (engine.rank() == 0) std::ofstream(std::string(std::getenv("PROBE_FOLDER")) + "/0") << "ready\n";
  for (;;) ::pause();
}

int run(Engine& engine, const std::string& action) {
  const std::map<std::string, int (*)(Engine&)> actions = {
      {"exchange", exchange}, {"large", large}, {"die", die},
      {"stop", stop},         {"fail", fail},   {"leave_alone", leave_alone},
      {"signals", signals},   {"deaf", deaf},   {"half_ready", half_ready}};
  return actions.at(action)(engine);
}

int run_rank(const std::string& engine_name, const std::string& action) {
  const char* stall = std::getenv("PROBE_STALL");
  const Place place = place_from_environment().value_or(Place{});
  const std::unique_ptr<Engine> engine = open_engine(place, {engine_name, stall ? std::atof(stall) : 300, ::_exit});
  try {
    return run(*engine, action);
  } catch (const Error& error) {
    std::cerr << error.what() << std::endl;
    engine->leave(int(error.code()));
    return int(error.code());
  }
}

int run_words(const std::vector<std::string>& words) {
  if (words.at(0) == "launch")
    return launch_local(std::stoi(words.at(2)), words.at(1),
                        {"ranks_probe", words.at(words.size() > 4 ? 4 : 1), words.at(3)});
  return run_rank(words.at(0), words.at(1));
}

}  // namespace
}  // namespace cortado::ranks

/// As in the program: any end but by its own exit code is a crash.
static bool ended_here = false;

static int run_program(int argc, char** argv) {
  try {
    return cortado::ranks::run_words({argv + 1, argv + argc});
  } catch (const cortado::Error& error) {
    std::cerr << error.what() << std::endl;
    return int(error.code());
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}

int main(int argc, char** argv) {
  std::atexit([] {
    if (!ended_here) ::_exit(99);
  });
  const int code = run_program(argc, argv);
  ended_here = true;
  return code;
}
