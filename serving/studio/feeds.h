#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>

#include "http/body_stream.h"
#include "http/message.h"

namespace cortado::studio {

/// Server-sent events for open pages. One thread polls for all of them; while no page is open, it sleeps.
class Feeds {
 public:
  /// Sends what is new since its last call. Returning false or throwing ends the stream.
  using Look = std::function<bool(http::BodyStream& stream)>;

  Feeds();
  ~Feeds();
  Feeds(const Feeds&) = delete;
  Feeds& operator=(const Feeds&) = delete;

  /// Makes a streamed reply; `look` is called at once, then twice a second. Throws RequestError(kBusy) above 64
  /// streams.
  http::Reply add(Look look);

  /// Sends an event. A page that reconnects sends the last `id` that it received.
  static void send(http::BodyStream& stream, std::string_view event, std::string_view data, std::string_view id = {});

 private:
  struct Feed {
    std::shared_ptr<http::BodyStream> stream;
    Look look;
    std::chrono::steady_clock::time_point sent;
  };

  void watch();
  static bool is_alive(Feed& feed);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Feed> added_;
  size_t open_ = 0;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace cortado::studio
