// Feeds poll for events only while a client is connected.

#include "studio/feeds.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace cortado::studio {
namespace {

template <typename What>
bool comes_true(const What& what) {
  for (int i = 0; i < 500; ++i) {
    if (what()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST(Feeds, polling_stops_when_the_client_disconnects) {
  std::atomic<int> looks = 0;
  Feeds feeds;
  const http::Reply reply = feeds.add([&](http::BodyStream& stream) {
    Feeds::send(stream, "count", std::to_string(++looks), "7");
    return true;
  });
  EXPECT_EQ(reply.type, "text/event-stream");
  ASSERT_TRUE(comes_true([&] { return looks >= 2; }));
  EXPECT_TRUE(reply.more->take().starts_with("event: count\nid: 7\ndata: 1\n\nevent: count\n"));
  reply.more->give_up();
  const int before = looks;
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));  // more than two periods
  EXPECT_LE(looks, before + 1);                                  // one may have been running
}

TEST(Feeds, a_failing_feed_sends_the_error_and_ends) {
  Feeds feeds;
  const http::Reply reply = feeds.add([](http::BodyStream&) -> bool { throw std::runtime_error("no\nmore"); });
  ASSERT_TRUE(comes_true([&] { return reply.more->is_over(); }));
  EXPECT_EQ(reply.more->take(), "event: failure\ndata: no\ndata: more\n\n");
}

TEST(Feeds, their_number_is_limited) {
  Feeds feeds;
  std::vector<http::Reply> replies;
  const auto look = [](http::BodyStream&) { return true; };
  for (int i = 0; i < 64; ++i) replies.push_back(feeds.add(look));
  EXPECT_THROW(feeds.add(look), http::RequestError);
  for (const http::Reply& reply : replies) reply.more->give_up();
  EXPECT_TRUE(comes_true([&] {
    try {
      feeds.add(look);
      return true;
    } catch (const http::RequestError&) {
      return false;
    }
  }));
}

}  // namespace
}  // namespace cortado::studio
