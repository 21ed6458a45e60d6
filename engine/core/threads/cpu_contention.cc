#include "core/threads/cpu_contention.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

namespace cortado {

namespace {

constexpr std::chrono::milliseconds kBetweenLooks(100);
constexpr int64_t kShortest = 20'000'000;                   ///< nanoseconds; shorter samples are too noisy
constexpr double kShareToBegin = 0.12, kShareToEnd = 0.03;  ///< fraction of the thread's time spent waiting

}  // namespace

bool CpuContention::now() {
  if (!made_here_) *this = {};
  const auto time = std::chrono::steady_clock::now();
  if (time < next_look_) return held_up_;
  next_look_ = time + kBetweenLooks;
  if (!file_) file_.emplace("/proc/thread-self/schedstat", O_RDONLY);
  const std::optional<Times> times = read();
  return times && after(*times);
}

bool CpuContention::after(const Times& times) {
  if (!before_) {
    before_ = times;
    return held_up_;
  }
  const int64_t ran = times.ran - before_->ran, waited = times.waited - before_->waited;
  if (ran + waited < kShortest) return held_up_;
  before_ = times;
  held_up_ = double(waited) > (held_up_ ? kShareToEnd : kShareToBegin) * double(ran + waited);
  return held_up_;
}

std::optional<CpuContention::Times> CpuContention::read() const {
  char text[96];
  const ssize_t length = pread(file_->fd(), text, sizeof text - 1, 0);
  if (length <= 0) return {};
  text[length] = '\0';
  char *rest = nullptr, *end = nullptr;
  const long long ran = std::strtoll(text, &rest, 10), waited = std::strtoll(rest, &end, 10);
  if (end == rest) return {};
  return Times{ran, waited};
}

}  // namespace cortado
