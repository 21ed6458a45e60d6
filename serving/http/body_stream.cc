#include "http/body_stream.h"

#include <utility>

namespace cortado::http {

void BodyStream::send(std::string_view piece) {
  {
    const std::lock_guard lock(mutex_);
    if (over_) return;
    if (waiting_.size() + piece.size() > kMaxWaiting)
      over_ = true;
    else
      waiting_ += piece;
  }
  notify();
}

void BodyStream::end() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  notify();
}

bool BodyStream::is_over() const {
  const std::lock_guard lock(mutex_);
  return over_;
}

void BodyStream::listen(std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
}

std::string BodyStream::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(waiting_, {});
}

void BodyStream::give_up() {
  const std::lock_guard lock(mutex_);
  over_ = true;
  waiting_.clear();
  wake_ = nullptr;
}

void BodyStream::notify() {
  const std::lock_guard lock(mutex_);
  if (wake_) wake_();
}

}  // namespace cortado::http
