#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace cortado::http {

/// An answer that goes on: what is sent leaves as soon as the client takes it, and nothing happens in between. Any
/// thread may send; the connection takes.
class BodyStream {
 public:
  /// Nothing happens once it is over. A client that lets more than 4 MiB wait is given up.
  void send(std::string_view piece);
  void end();            ///< behind what was sent; the connection is closed then
  bool is_over() const;  ///< ended, or the client is gone: there is no use in sending

  // For the connection

  /// `wake` is called, by the thread that sends, whenever there is something to take or the stream ended.
  void listen(std::function<void()> wake);
  std::string take();  ///< what waits; "" where nothing does
  void give_up();      ///< the client is gone

 private:
  static constexpr size_t kMaxWaiting = 4 << 20;

  void tell();

  mutable std::mutex mutex_;
  std::string waiting_;
  bool over_ = false;
  std::function<void()> wake_;
};

}  // namespace cortado::http
