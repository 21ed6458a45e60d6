#include "studio/feeds.h"

#include "core/log.h"
#include "core/process/signal_waiter.h"

namespace cortado::studio {

namespace {

constexpr std::chrono::milliseconds kPeriod(500);
constexpr std::chrono::seconds kSignOfLife(20);  // keep-alive, so that proxies do not close idle streams
constexpr size_t kMaxFeeds = 64;

}  // namespace

Feeds::Feeds() {
  const SignalsBlocked blocked;
  thread_ = std::thread([this] { watch(); });
}

Feeds::~Feeds() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

http::Reply Feeds::add(Look look) {
  const auto stream = std::make_shared<http::BodyStream>();
  {
    const std::lock_guard lock(mutex_);
    if (open_ >= kMaxFeeds) throw http::RequestError(http::Refusal::kBusy, "too many pages are open");
    ++open_;
    added_.push_back({stream, std::move(look), std::chrono::steady_clock::now()});
  }
  changed_.notify_one();
  http::Reply reply;
  reply.type = "text/event-stream";
  reply.more = stream;
  return reply;
}

void Feeds::send(http::BodyStream& stream, std::string_view event, std::string_view data, std::string_view id) {
  std::string text = "event: " + std::string(event) + "\n";
  if (!id.empty()) text += "id: " + std::string(id) + "\n";
  for (;;) {
    const size_t end = data.find('\n');
    text += "data: " + std::string(data.substr(0, end)) + "\n";
    if (end == std::string_view::npos) break;
    data.remove_prefix(end + 1);
  }
  stream.send(text + "\n");
}

bool Feeds::is_alive(Feed& feed) {
  if (feed.stream->is_over()) return false;
  try {
    if (!feed.look(*feed.stream)) return false;
  } catch (const std::exception& error) {
    send(*feed.stream, "failure", error.what());
    return false;
  }
  if (std::chrono::steady_clock::now() - feed.sent > kSignOfLife) {
    feed.stream->send(":\n\n");
    feed.sent = std::chrono::steady_clock::now();
  }
  return true;
}

void Feeds::watch() {
  std::list<Feed> feeds;
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto has_news = [this] { return ends_ || !added_.empty(); };
    if (feeds.empty())
      changed_.wait(lock, has_news);
    else
      changed_.wait_for(lock, kPeriod, has_news);
    feeds.splice(feeds.end(), added_);
    if (ends_) break;
    lock.unlock();
    const size_t before = feeds.size();
    feeds.remove_if([](Feed& feed) {
      if (is_alive(feed)) return false;
      feed.stream->end();
      return true;
    });
    const size_t gone = before - feeds.size();
    lock.lock();
    open_ -= gone;
  }
  for (const Feed& feed : feeds) feed.stream->end();
}

}  // namespace cortado::studio
