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

/// What pages are told while they are open, as server-sent events. One thread looks for news for all of them; while no
/// page is open, it sleeps.
class Feeds {
 public:
  /// Sends what is new since it was called last; false ends the stream. What it throws ends it too.
  using Look = std::function<bool(http::BodyStream& stream)>;

  Feeds();
  ~Feeds();
  Feeds(const Feeds&) = delete;
  Feeds& operator=(const Feeds&) = delete;

  /// An answer that goes on; `look` is called twice a second, first at once. Throws RequestError(kBusy) beyond 64.
  http::Reply add(Look look);

  /// An event as the stream has it. A page that lost its stream names the last `id` when it comes again.
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
