#include "http/connection.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "core/log.h"
#include "http/body_stream.h"
#include "http/head.h"

namespace cortado::http {

namespace {

using boost::system::error_code;

constexpr auto kWithError = [](error_code& error) { return asio::redirect_error(asio::use_awaitable, error); };

/// Whether the peer has closed its side. Bytes from it may still be unread.
bool has_hung_up(tcp::socket& socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(socket.native_handle(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return true;
  return info.tcpi_state != TCP_ESTABLISHED;
}

/// Receives the reply: the coroutine waits for a timer that the answering thread cancels.
struct Inbox {
  explicit Inbox(const asio::any_io_executor& executor)
      : timer(executor, std::chrono::steady_clock::time_point::max()) {}

  asio::steady_timer timer;
  std::optional<Reply> reply;
};

/// Sends the reply to the inbox. Another thread may hold it after the connection has ended, for a moment.
class Answer {
 public:
  Answer(std::shared_ptr<Presence> presence, std::shared_ptr<Inbox> inbox)
      : presence_(std::move(presence)), inbox_(std::move(inbox)) {}

  void operator()(Reply reply) const {
    asio::post(inbox_->timer.get_executor(), [inbox = inbox_, reply = std::move(reply)]() mutable {
      inbox->reply = std::move(reply);
      inbox->timer.cancel();
    });
  }

 private:
  std::shared_ptr<Presence> presence_;  // destroyed after the inbox
  std::shared_ptr<Inbox> inbox_;
};

template <typename Stream>
class Connection : public OpenConnection, public std::enable_shared_from_this<Connection<Stream>> {
 public:
  template <typename... Args>
  Connection(Host& host, Args&&... args) : host_(host), stream_(std::forward<Args>(args)...) {}

  tcp::socket& socket() override { return beast::get_lowest_layer(stream_); }

  asio::awaitable<void> serve() override {
    const auto self = this->shared_from_this();
    try {
      if (co_await shake_hands())
        while (co_await serve_one()) continue;
    } catch (const std::exception& error) {
      log_error() << "connection closed: " << error.what();
    }
    error_code ignored;
    socket().shutdown(tcp::socket::shutdown_both, ignored);
    socket().close(ignored);
  }

 private:
  using Parser = beast::http::request_parser<beast::http::string_body>;

  asio::awaitable<bool> shake_hands() {
    if constexpr (!std::is_same_v<Stream, tcp::socket>) {
      allow(host_.limits.header_time);
      error_code error;
      co_await stream_.async_handshake(asio::ssl::stream_base::server, kWithError(error));
      co_return !error;
    }
    co_return true;
  }

  /// Returns false if the connection must be closed.
  asio::awaitable<bool> serve_one() {
    Parser parser;
    parser.header_limit(host_.limits.header_bytes);
    parser.body_limit(host_.limits.body_bytes);
    error_code error;
    co_await read_head(parser, error);
    if (error) co_return co_await explain(error);
    end_waiting();
    const auto call = std::make_shared<Call>();
    std::optional<RequestError> refusal;
    std::shared_ptr<void> admission;
    try {
      call->head = head_of(parser.get());
      check_fits(parser);
      admission = host_.handler.admit(call->head);
      call->memory = host_.budget.take(most_bytes(parser));
    } catch (...) {
      refusal = current_request_error();
    }
    if (refusal) co_return co_await refuse(*refusal, call->head, parser);
    co_await read_body(parser, error);
    if (error) co_return co_await explain(error);
    admission.reset();
    call->body = std::move(parser.get().body());
    Reply reply = co_await answered(call);
    host_.handler.complete(call->head, reply);
    co_return co_await write(reply, parser.get().version(), parser.get().keep_alive() && !host_.draining,
                             parser.get().method() == beast::http::verb::head);
  }

  /// A connection is idle until the first byte of a request.
  asio::awaitable<void> read_head(Parser& parser, error_code& error) {
    begin_waiting();
    if (buffer_.size() == 0) {
      idle_ = true;
      allow(host_.limits.idle_time);
      if (host_.draining && is_idle()) {
        error = beast::http::error::end_of_stream;
        co_return;
      }
      const size_t got = co_await stream_.async_read_some(buffer_.prepare(kFirstBytes), kWithError(error));
      if (error) co_return;
      buffer_.commit(got);
    }
    idle_ = false;
    allow(host_.limits.header_time);
    co_await beast::http::async_read_header(stream_, buffer_, parser, kWithError(error));
  }

  void check_fits(Parser& parser) {
    const auto length = parser.content_length();
    if (length && *length > host_.limits.body_bytes)
      throw RequestError(Refusal::kTooLarge, "the body has " + std::to_string(*length) + " bytes, but the limit is " +
                                                 std::to_string(host_.limits.body_bytes));
    if (parser.get().count(beast::http::field::content_encoding) > 0 &&
        parser.get()[beast::http::field::content_encoding] != "identity")
      throw RequestError(Refusal::kMediaType, "compressed bodies are not supported");
  }

  /// The maximum size of the body. Without a content length it is chunked or empty.
  int64_t most_bytes(Parser& parser) const {
    return int64_t(parser.content_length().value_or(parser.chunked() ? host_.limits.body_bytes : 0));
  }

  asio::awaitable<void> read_body(Parser& parser, error_code& error) {
    if (parser.is_done()) co_return;
    allow(host_.limits.body_time);
    if (beast::iequals(parser.get()[beast::http::field::expect], "100-continue")) {
      constexpr std::string_view kGoOn = "HTTP/1.1 100 Continue\r\n\r\n";
      co_await asio::async_write(stream_, asio::buffer(kGoOn.data(), kGoOn.size()), kWithError(error));
      if (error) co_return;
    }
    co_await beast::http::async_read(stream_, buffer_, parser, kWithError(error));
  }

  asio::awaitable<Reply> answered(const std::shared_ptr<Call>& call) {
    allow_any_time();
    const auto inbox = std::make_shared<Inbox>(stream_.get_executor());
    const auto gone = std::make_shared<std::atomic<bool>>(false);
    call->client_is_gone = gone;
    call->answer = Answer(host_.presence, inbox);
    try {
      host_.handler.handle(call);
    } catch (...) {
      inbox->reply = reply_of(current_request_error());
    }
    if (!inbox->reply) watch(gone, inbox);
    error_code cancelled;
    while (!inbox->reply) co_await inbox->timer.async_wait(kWithError(cancelled));
    error_code ignored;
    socket().cancel(ignored);  // cancels watch()
    co_return std::move(*inbox->reply);
  }

  /// Sets `gone` when the client disconnects. Readable bytes are the next request or a TLS close_notify.
  void watch(const std::shared_ptr<std::atomic<bool>>& gone, const std::shared_ptr<Inbox>& inbox) {
    socket().async_wait(tcp::socket::wait_read, [this, self = this->shared_from_this(), gone, inbox](error_code error) {
      if (error || inbox->reply) return;
      if (has_hung_up(socket())) *gone = true;
    });
  }

  asio::awaitable<bool> write(const Reply& reply, unsigned version, bool keep_alive, bool without_body) {
    beast::http::response<beast::http::span_body<const char>> response(beast::http::status(reply.status), version);
    response.set(beast::http::field::content_type, reply.type);
    response.set(beast::http::field::cache_control, "no-store");
    for (const auto& [name, value] : reply.headers) response.set(name, value);
    response.keep_alive(keep_alive && !reply.more);
    response.body() = {reply.body.data(), reply.body.size()};
    if (!reply.more) response.prepare_payload();
    if (without_body) response.body() = {};
    allow(host_.limits.body_time);
    error_code error;
    beast::http::response_serializer<beast::http::span_body<const char>> serializer(response);
    co_await beast::http::async_write(stream_, serializer, kWithError(error));
    if (!reply.more) co_return !error && keep_alive;
    if (!error && !without_body) co_await write_more(reply.more);
    reply.more->give_up();
    co_return false;
  }

  /// Writes the stream to its end. Waiting for a piece has no deadline; writing one has.
  asio::awaitable<void> write_more(const std::shared_ptr<BodyStream>& stream) {
    const auto news =
        std::make_shared<asio::steady_timer>(stream_.get_executor(), std::chrono::steady_clock::time_point::max());
    stream->listen([news] { asio::post(news->get_executor(), [news] { news->cancel(); }); });
    socket().async_wait(tcp::socket::wait_read,
                        [stream, news](error_code) {  // the client may send nothing during a streamed reply
                          stream->give_up();
                          news->cancel();
                        });
    error_code error;
    while (!error) {
      const bool is_over = stream->is_over();
      const std::string piece = stream->take();
      if (piece.empty() && (is_over || host_.draining)) break;
      if (piece.empty()) {
        idle_ = true;  // drain() may close it
        allow_any_time();
        error_code cancelled;
        co_await news->async_wait(kWithError(cancelled));
      } else {
        idle_ = false;
        allow(host_.limits.body_time);
        co_await asio::async_write(stream_, asio::buffer(piece), kWithError(error));
      }
    }
    error_code ignored;
    socket().cancel(ignored);  // cancels the wait for the client
  }

  asio::awaitable<bool> refuse(const RequestError& why, const Head& head, Parser& parser) {
    Reply reply = reply_of(why);
    host_.handler.complete(head, reply);
    if (!parser.is_done()) co_return co_await send_refusal(reply);
    co_return co_await write(reply, parser.get().version(), parser.get().keep_alive(), false);
  }

  asio::awaitable<bool> explain(const error_code& error) {
    if (error == beast::http::error::body_limit)
      co_return co_await send_refusal(reply_of({Refusal::kTooLarge, "the body is too large"}));
    if (error == beast::http::error::header_limit)
      co_return co_await send_refusal(reply_of({Refusal::kInvalid, "the head of the request is too large"}));
    const bool is_about_http =
        error.category() == beast::http::make_error_code(beast::http::error::bad_method).category();
    if (is_about_http && error != beast::http::error::end_of_stream && error != beast::http::error::partial_message)
      co_return co_await send_refusal(reply_of({Refusal::kInvalid, "not an HTTP request: " + error.message()}));
    co_return false;
  }

  /// Replies to a request whose body is not read completely. Reads some of the rest, so that the client gets the reply
  /// before a connection reset.
  asio::awaitable<bool> send_refusal(Reply reply) {
    constexpr unsigned kVersion = 11;
    co_await write(reply, kVersion, false, false);
    error_code error;
    socket().shutdown(tcp::socket::shutdown_send, error);
    allow(kLinger);
    begin_waiting();
    std::string scrap(kFirstBytes, '\0');
    for (size_t taken = 0; !error && taken < kMaxScrap;)
      taken += co_await stream_.async_read_some(asio::buffer(scrap), kWithError(error));
    co_return false;
  }

  static constexpr size_t kFirstBytes = 16 << 10, kMaxScrap = 4 << 20;
  static constexpr std::chrono::seconds kLinger{2};

  Host& host_;
  Stream stream_;
  beast::flat_buffer buffer_;
};

}  // namespace

void OpenConnection::shut() {
  error_code ignored;
  socket().close(ignored);
  end_waiting();
}

bool OpenConnection::is_idle() {
  error_code error;
  return idle_ && socket().available(error) == 0;
}

OpenConnection::Time OpenConnection::waits_since() {
  error_code error;
  return socket().available(error) == 0 ? waits_since_ : Time::max();
}

std::shared_ptr<OpenConnection> make_connection(tcp::socket socket, Host& host, asio::ssl::context* tls) {
  if (tls) return std::make_shared<Connection<beast::ssl_stream<tcp::socket>>>(host, std::move(socket), *tls);
  return std::make_shared<Connection<tcp::socket>>(host, std::move(socket));
}

}  // namespace cortado::http
