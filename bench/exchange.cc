// Measures the all-reduce of an array by ranks, and how much of it overlaps with a backward pass of the same length,
// which is simulated by sleeping: `cortado_bench_exchange ENGINE MIB ROUNDS MBIT`, as one of several processes started
// by a launcher (see bench/bench_ranks.sh). MBIT is the bandwidth of each rank's link, for the ideal time: 2 (N-1)/N of
// the bytes, divided by the bandwidth without packet headers.

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/round_up.h"
#include "ranks/estimate.h"
#include "ranks/open_engine.h"
#include "ranks/place.h"
#include "ranks/shard_exchange.h"

namespace cortado::ranks {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kPayload = 1448. / 1514;  // the payload of a full Ethernet frame, TCP with timestamps

double seconds_since(Clock::time_point then) { return std::chrono::duration<double>(Clock::now() - then).count(); }

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) { return double(time.tv_sec) + 1e-6 * double(time.tv_usec); };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

class Bench {
 public:
  Bench(Engine& engine, int64_t floats)
      : engine_(engine),
        values_(size_t(floats), 1.f),
        sums_(context_, floats, {engine.rank(), 1}),
        exchange_(engine, engine.ranks()) {
    sums_.add(context_, 0, values_.data());
  }

  /// Median seconds of an exchange during which this thread sleeps for `backward` seconds.
  double run(int rounds, double backward) {
    std::vector<double> seconds;
    for (int round = 0; round <= rounds; ++round) {
      meet();
      const Clock::time_point begin = Clock::now();
      exchange_.start(sums_, values_.data(), {0, sums_.floats()});
      std::this_thread::sleep_for(std::chrono::duration<double>(backward));
      exchange_.wait();
      if (round > 0) seconds.push_back(seconds_since(begin));
    }
    return median(seconds);
  }

  /// Returns the first rank's value on all ranks.
  double agreed(double value) {
    engine_.broadcast(reinterpret_cast<std::byte*>(&value), sizeof value, 0);
    return value;
  }

 private:
  void meet() {
    std::vector<std::byte> there{size_t(engine_.ranks())};
    std::vector<size_t> at;
    for (size_t rank = 0; rank <= there.size(); ++rank) at.push_back(rank);
    engine_.all_gather(there.data(), at);
  }

  Engine& engine_;
  Context context_{1};
  std::vector<float> values_;
  ShardSums sums_;
  ShardExchange exchange_;
};

void measure(Engine& engine, double mebibytes, int rounds, double megabits) {
  const double bytes = mebibytes * (1 << 20);
  Bench bench(engine, int64_t(bytes) / int64_t(sizeof(float)));
  const double cpu_before = cpu_seconds();
  const double alone = bench.agreed(bench.run(rounds, 0));
  const double cpu = (cpu_seconds() - cpu_before) / (rounds + 1);
  const double both = bench.run(rounds, alone);
  const double ideal = line_passes(engine.ranks(), engine.ranks()) * bytes / (kPayload * megabits * 1e6 / 8);
  if (engine.rank() > 0) return;
  std::printf("%-15s %d ranks, %4.1f MB: %7.1f ms, %.2f of the ideal %.1f ms; %3.0f %% hidden; CPU %.0f ms\n",
              engine.name().c_str(), engine.ranks(), bytes / 1e6, 1e3 * alone, alone / ideal, 1e3 * ideal,
              100 * (2 * alone - both) / alone, 1e3 * cpu);
}

int run(const std::vector<std::string>& words) {
  const std::unique_ptr<Engine> engine = open_engine(
      place_from_environment().value_or(Place{}), {.name = words.at(0), .stall_seconds = 60, .end_process = ::_exit});
  measure(*engine, std::stod(words.at(1)), std::stoi(words.at(2)), std::stod(words.at(3)));
  engine->leave(0);
  return 0;
}

}  // namespace
}  // namespace cortado::ranks

int main(int argc, char** argv) {
  try {
    return cortado::ranks::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
