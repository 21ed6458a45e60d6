// The server over real sockets: streamed replies, disconnects, draining with open connections.

#include "http/server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <thread>

#include "http/body_stream.h"

namespace cortado::http {
namespace {

/// Answers /stream with a stream that the test fills, and everything else with the request itself. The test receives
/// the calls of /kept and, unanswered, /late.
class TestHandler : public Handler {
 public:
  std::shared_ptr<void> admit(const Head& head) override {
    if (head.path == "/forbidden") throw RequestError(Refusal::kForbidden, "no");
    return nullptr;
  }
  void handle(const std::shared_ptr<Call>& call) override {
    Reply reply{.body = call->head.method + " " + call->head.path + " " + std::string(call->head.field("x-name")),
                .type = "text/plain"};
    if (call->head.path == "/late") return late.set_value(call);
    if (call->head.path == "/stream") {
      reply.body = "first;";
      reply.more = stream;
    }
    call->answer(std::move(reply));
    if (call->head.path == "/kept") kept.set_value(call);
  }

  std::shared_ptr<BodyStream> stream = std::make_shared<BodyStream>();
  std::promise<std::shared_ptr<Call>> kept, late;
};

class ServerTest : public testing::Test {
 protected:
  ~ServerTest() override { end(); }

  void end() {
    server_.drain();
    if (thread_.joinable()) thread_.join();
  }

  int connect() const {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval most{.tv_sec = 10, .tv_usec = 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(server_.port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return fd;
  }
  static void ask(int fd, const std::string& path) {
    const std::string text = "GET " + path + " HTTP/1.1\r\nHost: x\r\nX-Name: y\r\n\r\n";
    EXPECT_EQ(::send(fd, text.data(), text.size(), MSG_NOSIGNAL), ssize_t(text.size()));
  }
  /// Reads until the text ends with `ending`, or the server closes the connection.
  static std::string read_to(int fd, const std::string& ending) {
    std::string got;
    char piece[4096];
    while (!got.ends_with(ending) || ending.empty()) {
      const ssize_t n = ::recv(fd, piece, sizeof piece, 0);
      if (n <= 0) break;
      got.append(piece, size_t(n));
    }
    return got;
  }
  template <typename What>
  static bool comes_true(const What& what) {
    for (int i = 0; i < 500; ++i) {
      if (what()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  TestHandler handler_;
  MemoryBudget budget_{1 << 20};  // smaller than the largest body
  Server server_{"127.0.0.1", 0, {}, {}, handler_, budget_};
  std::thread thread_{[this] { server_.run(); }};
};

TEST_F(ServerTest, requests_are_answered_in_order) {
  const int fd = connect();
  ask(fd, "/a?b=c");
  EXPECT_TRUE(read_to(fd, "GET /a y").starts_with("HTTP/1.1 200 OK\r\n"));
  ask(fd, "/forbidden");
  EXPECT_TRUE(read_to(fd, "}").starts_with("HTTP/1.1 403 "));
  ask(fd, "/b");
  EXPECT_NE(read_to(fd, "GET /b y"), "");
  ::close(fd);
}

TEST_F(ServerTest, a_stream_is_sent_until_it_ends) {
  const int fd = connect();
  ask(fd, "/stream");
  const std::string head = read_to(fd, "first;");
  EXPECT_NE(head.find("Connection: close"), std::string::npos);
  EXPECT_EQ(head.find("Content-Length"), std::string::npos);
  for (int i = 0; i < 3; ++i) {
    handler_.stream->send("piece" + std::to_string(i));
    EXPECT_EQ(read_to(fd, "piece" + std::to_string(i)), "piece" + std::to_string(i));
  }
  handler_.stream->send(std::string(3 << 20, 'x') + "!");
  EXPECT_EQ(read_to(fd, "!").size(), (3u << 20) + 1);
  handler_.stream->send("last");
  handler_.stream->end();
  EXPECT_EQ(read_to(fd, ""), "last");
  ::close(fd);
}

TEST_F(ServerTest, a_disconnect_ends_the_stream) {
  const int fd = connect();
  ask(fd, "/stream");
  read_to(fd, "first;");
  EXPECT_FALSE(handler_.stream->is_over());
  ::close(fd);
  EXPECT_TRUE(comes_true([&] { return handler_.stream->is_over(); }));
  EXPECT_TRUE(comes_true([&] { return server_.connections() == 0; }));
  handler_.stream->send("nobody");
}

TEST_F(ServerTest, open_streams_do_not_delay_draining) {
  const int fd = connect();
  ask(fd, "/stream");
  read_to(fd, "first;");
  end();
  EXPECT_EQ(read_to(fd, ""), "");
  EXPECT_TRUE(handler_.stream->is_over());
  ::close(fd);
}

TEST_F(ServerTest, draining_answers_what_was_asked_before) {
  const int fd = connect();
  ask(fd, "/late");
  const std::shared_ptr<Call> call = handler_.late.get_future().get();
  server_.drain();
  std::this_thread::sleep_for(std::chrono::milliseconds(700));  // connections are looked at twice a second
  call->answer({.body = "here it is", .type = "text/plain"});
  EXPECT_NE(read_to(fd, "").find("here it is"), std::string::npos);
  ::close(fd);
}

TEST_F(ServerTest, draining_waits_for_threads_that_hold_an_answered_call) {
  const int fd = connect();
  ask(fd, "/kept");
  EXPECT_NE(read_to(fd, "GET /kept y"), "");
  ::close(fd);
  std::atomic<bool> released = false;
  std::jthread holder([&released, call = handler_.kept.get_future().get()]() mutable {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    released = true;
    call.reset();
  });
  end();
  EXPECT_TRUE(released);
}

TEST_F(ServerTest, a_request_without_a_body_takes_no_memory) {
  std::vector<int> open;
  for (int i = 0; i < 5; ++i) {  // streams, whose requests live as long as the stream
    open.push_back(connect());
    ask(open.back(), "/stream");
    EXPECT_TRUE(read_to(open.back(), "first;").starts_with("HTTP/1.1 200 OK\r\n"));
  }
  for (const int fd : open) ::close(fd);
}

}  // namespace
}  // namespace cortado::http
