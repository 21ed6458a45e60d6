#include "solvers/pass_times.h"

#include <chrono>

#include "core/round_up.h"
#include "solvers/rank_share.h"

namespace cortado {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWarmUps = 2, kPasses = 7;

double seconds_since(Clock::time_point then) { return std::chrono::duration<double>(Clock::now() - then).count(); }

/// Of one pass.
class PassClock : private GradientReader {
 public:
  explicit PassClock(Net& net) : net_(net), completed_(net) {}

  PassTimes run() {
    times_.complete.clear();
    completed_.begin();
    const Clock::time_point begin = Clock::now();
    net_.forward();
    times_.forward = seconds_since(begin);
    backward_began_ = Clock::now();
    net_.backward(/*accumulate=*/false, this);
    times_.backward = seconds_since(backward_began_);
    return times_;
  }

 private:
  void on_complete(size_t param) override {
    completed_.on_complete(param, [&](size_t) { times_.complete.push_back(seconds_since(backward_began_)); });
  }

  Net& net_;
  CompleteParts completed_;
  PassTimes times_;
  Clock::time_point backward_began_;
};

template <typename Value>
double median_of(const std::vector<PassTimes>& runs, const Value& value) {
  std::vector<double> values;
  for (const PassTimes& run : runs) values.push_back(value(run));
  return median(values);
}

}  // namespace

PassTimes measure_passes(Net& net) {
  PassClock clock(net);
  std::vector<PassTimes> runs;
  for (int run = 0; run < kWarmUps + kPasses; ++run, ++net.context().pass) {
    const PassTimes times = clock.run();
    if (run >= kWarmUps) runs.push_back(times);
  }
  PassTimes medians;
  medians.forward = median_of(runs, [](const PassTimes& run) { return run.forward; });
  medians.backward = median_of(runs, [](const PassTimes& run) { return run.backward; });
  for (size_t part = 0; part < runs[0].complete.size(); ++part)
    medians.complete.push_back(median_of(runs, [&](const PassTimes& run) { return run.complete[part]; }));
  return medians;
}

}  // namespace cortado
