#include "ranks/launch.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <set>

#include "core/error.h"
#include "core/files/temporary_folder.h"
#include "core/log.h"
#include "core/process/signal_waiter.h"
#include "core/round_up.h"
#include "ranks/child_process.h"
#include "ranks/place.h"
#include "ranks/shard_exchange.h"
#include "ranks/shared_memory_engine.h"

extern char** environ;

namespace cortado::ranks {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kToNotice(2), kToEnd(10);  ///< after a rank failed, and after SIGTERM
constexpr int kLostAnother = int(ExitCode::kIo);

bool is_ignored(int signal) {
  struct sigaction action {};
  ::sigaction(signal, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}

/// The signals to forward; ignored ones (nohup) stay ignored.
std::vector<int> signals_to_read() {
  std::vector<int> signals = {SIGTSTP, SIGCHLD};
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2})
    if (!is_ignored(signal)) signals.push_back(signal);
  return signals;
}

class Launch {
 public:
  Launch(int ranks, const std::string& engine) : ranks_(ranks), engine_(engine), memory_(make_shared_memory(ranks)) {
    if (engine == "gloo") rendezvous_.emplace("cortado-ranks");
  }
  ~Launch();

  int run(const std::vector<std::string>& command);

 private:
  std::vector<std::string> environment_of(int rank) const;
  void wait();
  void act_on(int signal);
  void signal_all(int signal) const;
  void reap();
  void note_end(const ChildProcess& child, int exit_code);
  int exit_code() const;
  void end_others();
  bool any_runs() const { return std::ranges::any_of(children_, &ChildProcess::runs); }

  int ranks_;
  std::string engine_;
  const SignalWaiter signals_{signals_to_read()};
  Descriptor memory_;
  std::optional<TemporaryFolder> rendezvous_;  ///< for gloo
  std::vector<ChildProcess> children_;
  std::set<int> signal_codes_;           ///< exit codes of ranks that forwarded signals end
  int first_failure_ = 0, stopped_ = 0;  ///< exit codes
  bool never_begun_ = false;             ///< a forwarded signal killed a rank before it had a handler: all are ended
  int next_signal_ = 0;                  ///< what to send to running ranks at next_step_; 0: nothing
  Clock::time_point next_step_;
};

/// Kills all ranks if one could not be started.
Launch::~Launch() {
  signal_all(SIGKILL);
  while (any_runs()) {
    reap();
    ::usleep(1000);
  }
}

std::vector<std::string> Launch::environment_of(int rank) const {
  std::vector<std::string> own = {std::string(kRankVariable) + "=" + std::to_string(rank),
                                  std::string(kRanksVariable) + "=" + std::to_string(ranks_),
                                  std::string(kEngineVariable) + "=" + engine_,
                                  std::string(kSharedMemoryVariable) + "=" + std::to_string(memory_.fd())};
  if (engine_ == "gloo") {
    own.push_back(std::string(kRendezvousVariable) + "=" + (rendezvous_ ? rendezvous_->path() : ""));
    own.push_back(std::string(kAddressVariable) + "=127.0.0.1");
  }
  std::vector<std::string> all = own;
  const auto name_of = [](const std::string& entry) { return entry.substr(0, entry.find('=')); };
  for (char** entry = environ; *entry; ++entry)
    if (std::ranges::find(own, name_of(*entry), name_of) == own.end()) all.emplace_back(*entry);
  return all;
}

int Launch::run(const std::vector<std::string>& command) {
  ::signal(SIGCHLD, SIG_DFL);
  for (int rank = 0; rank < ranks_; ++rank)
    children_.emplace_back(ChildProcess::Options{rank, command, environment_of(rank), memory_.fd()});
  while (any_runs()) {
    wait();
    for (ChildProcess& child : children_) child.relay_lines();
    while (const int signal = signals_.next()) act_on(signal);
    reap();
    end_others();
  }
  for (ChildProcess& child : children_) child.relay_lines();
  return exit_code();
}

/// Waits for a signal, a line of output, or the next step.
void Launch::wait() {
  std::vector<pollfd> looks = {{signals_.fd(), POLLIN, 0}};
  for (const ChildProcess& child : children_)
    if (child.lines_fd() >= 0) looks.push_back({child.lines_fd(), POLLIN, 0});
  int milliseconds = -1;
  if (next_signal_ != 0) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_step_ - Clock::now()).count();
    milliseconds = int(std::max<int64_t>(left, 0));
  }
  ::poll(looks.data(), looks.size(), milliseconds);
}

void Launch::act_on(int signal) {
  if (signal == SIGCHLD) return;
  if (signal == SIGTSTP) {
    signal_all(SIGSTOP);
    ::raise(SIGSTOP);
    return signal_all(SIGCONT);
  }
  signal_codes_.insert(128 + signal);
  signal_all(signal);
}

void Launch::signal_all(int signal) const {
  for (const ChildProcess& child : children_) child.signal(signal);
}

void Launch::reap() {
  for (ChildProcess& child : children_)
    if (const std::optional<int> code = child.reap()) note_end(child, *code);
}

/// Ends after our own SIGTERM or SIGKILL are not failures. A forwarded signal that killed a rank found no handler: the
/// training had not begun, and the others would only wait for that rank.
void Launch::note_end(const ChildProcess& child, int exit_code) {
  const bool follows = never_begun_ || (first_failure_ != 0 && next_signal_ != SIGTERM);
  if (exit_code == 0 || follows) return;
  if (signal_codes_.contains(exit_code)) {
    stopped_ = exit_code;
    never_begun_ = child.was_killed();
    if (!never_begun_) return;
    log_warning() << "stopped before rank " << child.rank()
                  << " had started: nothing was trained, and no snapshot is written";
    return signal_all(SIGKILL);
  }
  if (first_failure_ == 0) {
    next_signal_ = SIGTERM;
    next_step_ = Clock::now() + kToNotice;
  } else if (first_failure_ != kLostAnother || exit_code == kLostAnother) {
    return;
  }
  first_failure_ = exit_code;
  const std::string how = exit_code > 128 ? " was ended by signal " + std::to_string(exit_code - 128)
                                          : " has failed with exit code " + std::to_string(exit_code);
  log_error() << "rank " << child.rank() << how;
}

/// A rank that lost another one, which a second signal ended at once, failed as requested.
int Launch::exit_code() const {
  const bool as_asked = first_failure_ == 0 || first_failure_ == kLostAnother;
  return stopped_ != 0 && as_asked ? stopped_ : first_failure_;
}

void Launch::end_others() {
  if (next_signal_ == 0 || Clock::now() < next_step_) return;
  signal_all(next_signal_);
  signal_all(SIGCONT);  // a stopped process handles no other signal
  next_signal_ = next_signal_ == SIGTERM ? SIGKILL : 0;
  next_step_ = Clock::now() + kToEnd;
}

}  // namespace

int launch_local(int ranks, const std::string& engine, const std::vector<std::string>& command) {
  if (ranks < 1) throw Error(ExitCode::kUsage, std::to_string(ranks) + " processes: must be at least 1");
  const std::string used = engine.empty() ? "shm" : engine;
  if (used == "openmpi" || used == "mpich")
    throw Error(ExitCode::kUsage, "processes of engine " + used + " must be started by its own launcher",
                "run mpirun -n " + std::to_string(ranks) + " with this command, without the number of ranks");
  if (used != "shm" && used != "gloo")
    throw Error(ExitCode::kUsage, "unknown engine '" + used + "'",
                did_you_mean(used, {"shm", "gloo", "openmpi", "mpich"}));
  return Launch(ranks, used).run(command);
}

}  // namespace cortado::ranks

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
    seconds_of_exchange(exchange, sums, {0, floats});  // page faults: not measured
    for (int round = 0; round < kRounds; ++round) seconds.push_back(seconds_of_exchange(exchange, sums, {0, floats}));
    samples.push_back({double(size_t(floats) * sizeof(float)), median(seconds)});
  }
  return fitted_network(samples, line_passes(engine.ranks(), engine.ranks()));
}

}  // namespace cortado::ranks
