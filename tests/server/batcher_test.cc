// Which requests are batched, when, and the errors of others.

#include "server/batching/batcher.h"

#include <gtest/gtest.h>

#include <future>

#include "core/error.h"
#include "server/batching/batch.h"

namespace cortado::server {
namespace {

using std::chrono::milliseconds;

/// A net that adds one, records the rows of each call, and can be blocked.
class Net {
 public:
  Arrays operator()(const Arrays& inputs) {
    const Array& x = inputs.at("x");
    {
      std::unique_lock lock(mutex_);
      rows_.push_back(x.shape[0]);
      called_.notify_all();
      called_.wait(lock, [this] { return !held_; });
    }
    Array y = x;
    for (float& value : y.values) {
      if (value < 0) throw Error(ExitCode::kData, "a value is negative");
      value += 1;
    }
    return {{"y", y}, {"z", x}};
  }
  void hold() { set(true); }
  void release() { set(false); }
  void wait_for_calls(size_t count) {
    std::unique_lock lock(mutex_);
    called_.wait(lock, [&] { return rows_.size() >= count; });
  }
  std::vector<int64_t> rows() {
    const std::lock_guard lock(mutex_);
    return rows_;
  }

 private:
  void set(bool held) {
    const std::lock_guard lock(mutex_);
    held_ = held;
    called_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable called_;
  std::vector<int64_t> rows_;
  bool held_ = false;
};

struct Asked {
  RequestPtr request;
  std::future<Outcome> outcome;

  std::vector<float> values() { return std::get<Arrays>(outcome.get().result).at("y").values; }
  Refusal refusal() { return std::get<RequestError>(outcome.get().result).why(); }
};

Asked ask(std::vector<float> values) {
  Asked asked{std::make_shared<Request>(), {}};
  const auto told = std::make_shared<std::promise<Outcome>>();
  asked.outcome = told->get_future();
  asked.request->rows = int64_t(values.size()) / 2;
  asked.request->inputs["x"] = {{asked.request->rows, 2}, std::move(values)};
  asked.request->outputs = {"y"};
  asked.request->done = [told](Outcome outcome) { told->set_value(std::move(outcome)); };
  return asked;
}

struct BatcherTest : testing::Test {
  std::unique_ptr<Batcher> batcher(BatchingOptions options) {
    return std::make_unique<Batcher>([this](const Arrays& inputs) { return net(inputs); }, options);
  }
  static BatchingOptions joining(int64_t most, milliseconds delay = milliseconds(0)) {
    return {.max_rows = most, .joins = true, .max_delay = delay};
  }
  Net net;
};

TEST_F(BatcherTest, one_client_does_not_wait) {
  const auto all = batcher(joining(8, milliseconds(60'000)));
  for (int i = 0; i < 20; ++i) {
    Asked asked = ask({float(i), 2});
    all->submit(asked.request);
    ASSERT_EQ(asked.outcome.wait_for(milliseconds(20'000)), std::future_status::ready);
    EXPECT_EQ(asked.values(), (std::vector<float>{float(i) + 1, 3}));
  }
  EXPECT_EQ(net.rows(), std::vector<int64_t>(20, 1));
}

TEST_F(BatcherTest, waiting_requests_are_batched_and_padded) {
  const auto all = batcher(joining(8));
  net.hold();
  Asked first = ask({1, 1});
  all->submit(first.request);
  net.wait_for_calls(1);
  Asked second = ask({2, 3}), third = ask({4, 5, 6, 7});
  all->submit(second.request);
  all->submit(third.request);
  net.release();
  EXPECT_EQ(first.values(), (std::vector<float>{2, 2}));
  EXPECT_EQ(second.values(), (std::vector<float>{3, 4}));
  EXPECT_EQ(third.values(), (std::vector<float>{5, 6, 7, 8}));
  EXPECT_EQ(net.rows(), (std::vector<int64_t>{1, 4}));
}

TEST_F(BatcherTest, requests_are_not_split_or_reordered) {
  const auto all = batcher(joining(4));
  net.hold();
  std::vector<Asked> asked;
  for (const int rows : {1, 3, 2, 2, 1}) {
    asked.push_back(ask(std::vector<float>(size_t(rows) * 2, 1)));
    all->submit(asked.back().request);
    net.wait_for_calls(1);
  }
  net.release();
  for (Asked& one : asked) EXPECT_EQ(one.values()[0], 2);
  EXPECT_EQ(net.rows(), (std::vector<int64_t>{1, 4, 4, 1}));  // 3 and 2 do not fit together
}

TEST_F(BatcherTest, one_request_may_have_more_rows_than_are_joined) {
  BatchingOptions options = joining(4);
  options.join_rows = 2;
  const auto all = batcher(options);
  net.hold();
  std::vector<Asked> asked;
  for (const int rows : {1, 1, 1, 4, 1}) {
    asked.push_back(ask(std::vector<float>(size_t(rows) * 2, 1)));
    all->submit(asked.back().request);
    net.wait_for_calls(1);
  }
  net.release();
  for (Asked& one : asked) EXPECT_EQ(one.values()[0], 2);
  EXPECT_EQ(net.rows(), (std::vector<int64_t>{1, 2, 4, 1}));
}

TEST_F(BatcherTest, unrequested_outputs_are_not_returned) {
  const auto all = batcher(joining(4));
  Asked asked = ask({1, 2});
  all->submit(asked.request);
  EXPECT_EQ(std::get<Arrays>(asked.outcome.get().result).count("z"), 0u);
}

TEST_F(BatcherTest, without_joining_each_runs_alone) {
  const auto all = batcher({.max_rows = 1, .joins = false});
  net.hold();
  Asked first = ask({1, 1, 1, 1, 1, 1}), second = ask({2, 2, 2, 2, 2, 2});
  all->submit(first.request);
  all->submit(second.request);
  net.release();
  EXPECT_EQ(first.values().size(), 6u);
  EXPECT_EQ(second.values().size(), 6u);
  EXPECT_EQ(net.rows(), (std::vector<int64_t>{3, 3}));
}

TEST_F(BatcherTest, a_failing_request_does_not_fail_others) {
  const auto all = batcher(joining(4));
  net.hold();
  Asked first = ask({1, 1}), bad = ask({-1, 1}), good = ask({5, 5});
  all->submit(first.request);
  net.wait_for_calls(1);
  all->submit(bad.request);
  all->submit(good.request);
  net.release();
  EXPECT_EQ(bad.refusal(), Refusal::kInvalid);
  EXPECT_EQ(good.values(), (std::vector<float>{6, 6}));
}

TEST_F(BatcherTest, late_and_abandoned_ones_are_not_computed) {
  const auto all = batcher(joining(4));
  net.hold();
  Asked first = ask({1, 1}), late = ask({2, 2}), gone = ask({3, 3}), good = ask({4, 4});
  const auto hung_up = std::make_shared<std::atomic<bool>>(false);
  gone.request->client_is_gone = hung_up;
  late.request->deadline = Clock::now() + milliseconds(1);
  all->submit(first.request);
  net.wait_for_calls(1);
  for (const Asked* one : {&late, &gone, &good}) all->submit(one->request);
  *hung_up = true;
  std::this_thread::sleep_until(late.request->deadline);
  net.release();
  EXPECT_EQ(late.refusal(), Refusal::kLate);
  EXPECT_EQ(gone.refusal(), Refusal::kCancelled);
  EXPECT_EQ(good.values(), (std::vector<float>{5, 5}));
  EXPECT_EQ(net.rows(), (std::vector<int64_t>{1, 1}));
}

TEST_F(BatcherTest, a_full_queue_refuses) {
  BatchingOptions options = joining(1);
  options.max_queued = 2;
  const auto all = batcher(options);
  net.hold();
  std::vector<Asked> asked;
  for (int i = 0; i < 3; ++i) {
    asked.push_back(ask({1, 1}));
    all->submit(asked.back().request);
    net.wait_for_calls(1);
  }
  try {
    all->submit(ask({1, 1}).request);
    ADD_FAILURE() << "accepted";
  } catch (const RequestError& error) {
    EXPECT_EQ(error.why(), Refusal::kBusy);
  }
  net.release();
  for (Asked& one : asked) EXPECT_EQ(one.values()[0], 2);
}

TEST_F(BatcherTest, close_computes_what_is_queued) {
  const auto all = batcher(joining(2));
  std::vector<Asked> asked;
  for (int i = 0; i < 9; ++i) {
    asked.push_back(ask({float(i), 0}));
    EXPECT_TRUE(all->submit(asked.back().request));
  }
  all->close();
  for (int i = 0; i < 9; ++i) EXPECT_EQ(asked[size_t(i)].values()[0], float(i) + 1);
  EXPECT_FALSE(all->submit(ask({1, 1}).request));
}

TEST_F(BatcherTest, a_batch_waits_for_a_request_that_is_being_read) {
  const auto all = batcher(joining(4, milliseconds(20'000)));
  Asked first = ask({1, 1}), second = ask({2, 2});
  {
    const Batcher::Arrival arrival(*all);
    all->submit(first.request);
    EXPECT_EQ(first.outcome.wait_for(milliseconds(50)), std::future_status::timeout);
    all->submit(second.request);
  }
  EXPECT_EQ(first.values()[0], 2);
  EXPECT_EQ(second.values()[0], 3);
  EXPECT_EQ(net.rows(), (std::vector<int64_t>{2}));
}

TEST_F(BatcherTest, nobody_waits_longer_than_the_delay) {
  const auto all = batcher(joining(4, milliseconds(30)));
  const Batcher::Arrival one_that_never_comes(*all);
  Asked asked = ask({1, 1});
  const auto start = Clock::now();
  all->submit(asked.request);
  EXPECT_EQ(asked.values()[0], 2);
  EXPECT_GE(Clock::now() - start, milliseconds(29));
}

TEST_F(BatcherTest, a_batch_waits_for_the_clients_of_the_last_one) {
  const auto all = batcher(joining(4, milliseconds(20'000)));
  net.hold();
  Asked first = ask({1, 1}), second = ask({2, 2});
  all->submit(first.request);
  net.wait_for_calls(1);
  all->submit(second.request);
  net.release();
  first.values();  // its client sends another request, for which the second one waits
  Asked third = ask({3, 3});
  all->submit(third.request);
  EXPECT_EQ(second.values()[0], 3);
  EXPECT_EQ(third.values()[0], 4);
  EXPECT_EQ(net.rows(), (std::vector<int64_t>{1, 2}));
}

TEST(Batch, rows_are_padded_to_powers_of_two) {
  EXPECT_EQ(prepared_rows(1), (std::vector<int64_t>{1}));
  EXPECT_EQ(prepared_rows(8), (std::vector<int64_t>{1, 2, 4, 8}));
  EXPECT_EQ(prepared_rows(12), (std::vector<int64_t>{1, 2, 4, 8, 12}));
  for (int64_t rows = 1; rows <= 12; ++rows) {
    const std::vector<int64_t> all = prepared_rows(12);
    EXPECT_EQ(padded_rows(rows, 12), *std::lower_bound(all.begin(), all.end(), rows)) << rows;
  }
}

}  // namespace
}  // namespace cortado::server
