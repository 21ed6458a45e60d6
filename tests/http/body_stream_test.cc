// Streamed replies: pieces wait until they are taken, up to a limit.

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
  EXPECT_EQ(stream.take(), "c");  // pieces before the end are still sent
}

TEST(BodyStream, a_disconnected_client_gets_nothing) {
  BodyStream stream;
  stream.send("a");
  stream.give_up();
  stream.send("b");
  EXPECT_TRUE(stream.is_over());
  EXPECT_EQ(stream.take(), "");
}

TEST(BodyStream, a_client_that_takes_nothing_is_disconnected) {
  BodyStream stream;
  const std::string piece(1 << 20, 'x');
  for (int i = 0; i < 4; ++i) stream.send(piece);
  EXPECT_FALSE(stream.is_over());
  stream.send("x");
  EXPECT_TRUE(stream.is_over());
}

}  // namespace
}  // namespace cortado::http
