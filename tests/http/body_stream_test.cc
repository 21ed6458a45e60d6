// Answers that go on: what is sent waits until it is taken, and not without bound.

#include "http/body_stream.h"

#include <gtest/gtest.h>

namespace cortado::http {
namespace {

TEST(BodyStream, pieces_wait_until_they_are_taken) {
  BodyStream stream;
  int woken = 0;
  stream.send("a");
  stream.listen([&] { ++woken; });
  stream.send("b");
  EXPECT_EQ(woken, 1);
  EXPECT_EQ(stream.take(), "ab");
  EXPECT_EQ(stream.take(), "");
  stream.send("c");
  stream.end();
  EXPECT_EQ(woken, 3);
  EXPECT_TRUE(stream.is_over());
  stream.send("d");
  EXPECT_EQ(stream.take(), "c");  // what was sent before the end still goes out
}

TEST(BodyStream, a_client_that_is_gone_gets_nothing) {
  BodyStream stream;
  stream.send("a");
  stream.give_up();
  stream.send("b");
  EXPECT_TRUE(stream.is_over());
  EXPECT_EQ(stream.take(), "");
}

TEST(BodyStream, a_client_that_takes_nothing_is_given_up) {
  BodyStream stream;
  const std::string piece(1 << 20, 'x');
  for (int i = 0; i < 4; ++i) stream.send(piece);
  EXPECT_FALSE(stream.is_over());
  stream.send("x");
  EXPECT_TRUE(stream.is_over());
}

}  // namespace
}  // namespace cortado::http
