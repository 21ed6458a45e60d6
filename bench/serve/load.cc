// A load generator for the server, light enough to share two cores with it: one thread with closed-loop clients, which
// send one row each and compare every answer with that of a single request.
//
//   cortado_bench_serve PORT MODEL INPUT DIMS CLIENTS SECONDS [HOSTILE] [PID]
//
// DIMS: a row's extents, "1,28,28". SECONDS: or the number of requests, with the suffix n. HOSTILE: one of this many
// requests is Hostile's, 0: none. PID: the server's, to report its memory and descriptors. Prints one JSON object.

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <random>
#include <stdexcept>
#include <vector>

#include "bench/serve/hostile.h"

namespace cortado::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kInputs = 16;
constexpr double kDay = 86400;
constexpr float kTolerance = 1e-4f;  // plans of other batch sizes may differ in last bits

struct Options {
  uint16_t port;
  std::string model, input, dims;
  size_t clients;
  double seconds = 0;
  size_t requests = 0;  ///< limit of requests; 0: only the time limit
  size_t hostile = 0;
  int server = 0;
};

struct Sample {
  std::string request, answer;
};

struct Client {
  Descriptor socket;
  AnswerReader reader;
  size_t sample = 0, sent = 0;
  Clock::time_point started;
};

std::string drawn_row(const std::string& dims, uint32_t seed) {
  size_t count = 1;
  for (size_t at = 0; at < dims.size(); at = std::min(dims.find(',', at), dims.size() - 1) + 1)
    count *= size_t(std::atoi(dims.c_str() + at));
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> draw(-1, 1);
  std::vector<float> values(count);
  for (float& value : values) value = draw(generator);
  return {reinterpret_cast<const char*>(values.data()), count * sizeof(float)};
}

bool are_alike(const std::string& a, const std::string& b) {
  if (a.size() != b.size() || a.empty()) return false;
  for (size_t i = 0; i + sizeof(float) <= a.size(); i += sizeof(float)) {
    float x, y;
    std::memcpy(&x, a.data() + i, sizeof x);
    std::memcpy(&y, b.data() + i, sizeof y);
    if (!(std::fabs(x - y) <= kTolerance * std::max(1.f, std::fabs(y)))) return false;
  }
  return true;
}

int64_t resident_kb(int pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) return std::atoll(line.c_str() + 6);
  return 0;
}

int64_t descriptors(int pid) {
  std::error_code failed;
  const std::filesystem::directory_iterator all("/proc/" + std::to_string(pid) + "/fd", failed);
  return failed ? 0 : std::distance(begin(all), std::filesystem::directory_iterator());
}

class Load {
 public:
  explicit Load(Options options) : options_(std::move(options)), events_(::epoll_create1(EPOLL_CLOEXEC)) {
    for (uint32_t i = 0; i < kInputs; ++i)
      samples_.push_back(
          {infer_request(options_.model, options_.input, "1," + options_.dims, drawn_row(options_.dims, i)), {}});
    if (options_.requests > 0) most_ = options_.requests;
    clients_.resize(options_.clients);
    hostile_.emplace(options_.port, options_.model, options_.input, samples_[0].request);
  }

  void run() {
    ask_alone();
    const auto start = Clock::now();
    if (options_.requests > 0) options_.seconds = kDay;
    const auto half = start + std::chrono::duration<double>(options_.seconds / 2);
    end_ = start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options_.seconds));
    for (size_t i = 0; i < clients_.size(); ++i) open(clients_[i], i);
    const auto look = [&] { return options_.server ? resident_kb(options_.server) : 0; };
    int64_t at_half = 0;
    while (open_ > 0) {
      serve_events();
      if (at_half == 0 && (Clock::now() > half || milliseconds_.size() * 2 > most_)) at_half = look();
    }
    took_ = std::chrono::duration<double>(Clock::now() - start).count();
    report(at_half, look());
  }

 private:
  /// Sends each request alone, to get the reference answers.
  void ask_alone() {
    end_ = Clock::time_point::min();
    for (Sample& sample : samples_) {
      Client client;
      client.sample = size_t(&sample - samples_.data());
      alone_ = &sample;
      open(client, client.sample);
      while (open_ > 0) serve_events();
    }
    alone_ = nullptr;
  }

  void open(Client& client, size_t first_sample) {
    client.socket = connect_here(options_.port);
    epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLET, .data = {.ptr = &client}};
    ::epoll_ctl(events_.fd(), EPOLL_CTL_ADD, client.socket.fd(), &event);
    ++open_;
    client.sample = first_sample % kInputs;
    begin(client);
  }

  void begin(Client& client) {
    client.reader.clear();
    client.sent = 0;
    client.started = Clock::now();
    send(client);
  }

  void send(Client& client) {
    const std::string& request = samples_[client.sample].request;
    while (client.sent < request.size()) {
      const ssize_t sent =
          ::send(client.socket.fd(), request.data() + client.sent, request.size() - client.sent, MSG_NOSIGNAL);
      if (sent <= 0) return;
      client.sent += size_t(sent);
    }
  }

  void serve_events() {
    epoll_event ready[64];
    const int count = ::epoll_wait(events_.fd(), ready, std::size(ready), 1000);
    for (int i = 0; i < count; ++i) {
      Client& client = *static_cast<Client*>(ready[i].data.ptr);
      if (ready[i].events & EPOLLOUT) send(client);
      if (!(ready[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))) continue;
      const bool is_open = client.reader.read(client.socket.fd());
      if (client.reader.is_complete())
        finish(client);
      else if (!is_open)
        fail(client);
    }
  }

  void fail(Client& client) {
    ++errors_;
    client.socket = Descriptor();
    --open_;
    if (Clock::now() < end_ && milliseconds_.size() < most_) open(client, client.sample);
  }

  void finish(Client& client) {
    const auto now = Clock::now();
    if (alone_) {
      alone_->answer = client.reader.values();
      if (client.reader.status() != 200)
        throw std::runtime_error("the server answered with status " + std::to_string(client.reader.status()));
    } else {
      milliseconds_.push_back(std::chrono::duration<float, std::milli>(now - client.started).count());
      if (client.reader.status() != 200)
        ++errors_;
      else if (!are_alike(client.reader.values(), samples_[client.sample].answer))
        ++wrong_;
      if (options_.hostile > 0 && milliseconds_.size() % options_.hostile == 0) hostile_->attack();
    }
    if (now >= end_ || milliseconds_.size() >= most_) {
      client.socket = Descriptor();
      --open_;
      return;
    }
    client.sample = (client.sample + 1) % kInputs;
    begin(client);
  }

  float percentile(double share) const {
    return milliseconds_.empty() ? 0 : milliseconds_[size_t(share * double(milliseconds_.size() - 1))];
  }

  void report(int64_t kb_at_half, int64_t kb_at_end) {
    std::ranges::sort(milliseconds_);
    std::printf(
        "{\"clients\": %zu, \"seconds\": %.2f, \"requests\": %zu, \"per_second\": %.1f, \"p50_ms\": %.3f, "
        "\"p90_ms\": %.3f, \"p99_ms\": %.3f, \"most_ms\": %.3f, \"errors\": %zu, \"wrong\": %zu, "
        "\"hostile\": %zu, \"kb_at_half\": %lld, \"kb_at_end\": %lld, \"descriptors\": %lld}\n",
        options_.clients, took_, milliseconds_.size(), double(milliseconds_.size()) / took_, double(percentile(0.5)),
        double(percentile(0.9)), double(percentile(0.99)), double(percentile(1)), errors_, wrong_, hostile_->attacks(),
        static_cast<long long>(kb_at_half), static_cast<long long>(kb_at_end),
        static_cast<long long>(options_.server ? descriptors(options_.server) : 0));
  }

  Options options_;
  size_t most_ = std::numeric_limits<size_t>::max();
  Descriptor events_;
  std::vector<Sample> samples_;
  std::vector<Client> clients_;
  std::optional<Hostile> hostile_;
  Sample* alone_ = nullptr;
  size_t open_ = 0, errors_ = 0, wrong_ = 0;
  Clock::time_point end_;
  double took_ = 0;
  std::vector<float> milliseconds_;
};

}  // namespace

}  // namespace cortado::bench

int main(int argc, char** argv) {
  if (argc < 7) {
    std::fprintf(stderr, "cortado_bench_serve PORT MODEL INPUT DIMS CLIENTS SECONDS [HOSTILE] [PID]\n");
    return 2;
  }
  try {
    const std::string length = argv[6];
    cortado::bench::Load({.port = uint16_t(std::atoi(argv[1])),
                          .model = argv[2],
                          .input = argv[3],
                          .dims = argv[4],
                          .clients = size_t(std::atoi(argv[5])),
                          .seconds = std::atof(argv[6]),
                          .requests = length.ends_with('n') ? size_t(std::atoll(argv[6])) : 0,
                          .hostile = argc > 7 ? size_t(std::atoi(argv[7])) : 0,
                          .server = argc > 8 ? std::atoi(argv[8]) : 0})
        .run();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cortado_bench_serve: %s\n", error.what());
    return 1;
  }
}
