#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace cortado::http {

/// A streamed reply: each piece is sent as soon as the client accepts it. Any thread may call send(); the connection
/// calls take().
class BodyStream {
 public:
  /// Does nothing if is_over(). A client with more than 4 MiB unsent is disconnected.
  void send(std::string_view piece);
  void end();            ///< after the pieces that were sent; closes the connection
  bool is_over() const;  ///< the stream ended or the client disconnected

  // For the connection

  /// The sending thread calls `wake` when there is a piece to take or the stream ends.
  void listen(std::function<void()> wake);
  std::string take();  ///< unsent data, or ""
  void give_up();      ///< the client disconnected

 private:
  static constexpr size_t kMaxWaiting = 4 << 20;

  void notify();

  mutable std::mutex mutex_;
  std::string waiting_;
  bool over_ = false;
  std::function<void()> wake_;
};

}  // namespace cortado::http
