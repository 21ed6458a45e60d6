#include "ranks/measure_network.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "core/median.h"
#include "ranks/shard_exchange.h"

namespace cortado::ranks {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kSizes[] = {1 << 10, 1 << 16, 1 << 19, 25 << 18};  ///< floats; the largest is that of most parts
constexpr int kRounds = 5;

double seconds_of_exchange(ShardExchange& exchange, const ShardSums& sums, const FloatRange& part) {
  const auto begin = Clock::now();
  exchange.start(sums, sums.block(0), part);
  exchange.wait();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

Network measure_network(Engine& engine) {
  Context context(1);
  std::vector<float> values(size_t(*std::max_element(std::begin(kSizes), std::end(kSizes))));
  ShardSums sums(context, int64_t(values.size()), {engine.rank(), 1});
  sums.add(context, 0, values.data());
  ShardExchange exchange(engine, engine.ranks());
  std::vector<ExchangeSample> samples;
  for (const int64_t floats : kSizes) {
    std::vector<double> seconds;
    seconds_of_exchange(exchange, sums, {0, floats});  // memory that is touched for the first time
    for (int round = 0; round < kRounds; ++round) seconds.push_back(seconds_of_exchange(exchange, sums, {0, floats}));
    samples.push_back({double(size_t(floats) * sizeof(float)), median(seconds)});
  }
  return fitted_network(samples, line_passes(engine.ranks(), engine.ranks()));
}

}  // namespace cortado::ranks
