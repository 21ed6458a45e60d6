#pragma once

// Ranks as threads of one process, for tests: an engine whose ranks read each other's memory.

#include <algorithm>
#include <barrier>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "ranks/engine.h"

namespace cortado {

class ThreadRanks {
 public:
  explicit ThreadRanks(int ranks) : barrier_(ranks), calls_(size_t(ranks)) {}

  /// Calls body(engine) in a thread for each rank. Returns the exception that each of them threw, or null.
  std::vector<std::exception_ptr> run(const std::function<void(ranks::Engine&)>& body) {
    std::vector<std::exception_ptr> errors(calls_.size());
    {
      std::vector<std::jthread> threads;
      for (size_t rank = 0; rank < calls_.size(); ++rank)
        threads.emplace_back([&, rank] {
          End end(*this, int(rank));
          try {
            body(end);
          } catch (...) {
            errors[rank] = std::current_exception();
          }
        });
    }
    return errors;
  }

 private:
  struct Call {
    const std::byte* values;
    std::vector<size_t> at;
  };

  class End : public ranks::Engine {
   public:
    End(ThreadRanks& all, int rank) : all_(all), rank_(rank) {}
    std::string name() const override { return "threads"; }
    int rank() const override { return rank_; }
    int ranks() const override { return int(all_.calls_.size()); }
    double stall_seconds() const override { return 300; }

    void all_to_all(const std::byte* send, std::span<const size_t> send_at, std::byte* receive,
                    std::span<const size_t> receive_at) override {
      post(send, send_at);
      for (size_t from = 0; from < all_.calls_.size(); ++from) {
        const Call& call = all_.calls_[from];
        const size_t begin = call.at[size_t(rank_)], end = call.at[size_t(rank_) + 1];
        if (end - begin != receive_at[from + 1] - receive_at[from]) std::terminate();
        std::copy(call.values + begin, call.values + end, receive + receive_at[from]);
      }
      all_.barrier_.arrive_and_wait();
    }

    void all_gather(std::byte* values, std::span<const size_t> at) override {
      post(values, at);
      for (size_t from = 0; from < all_.calls_.size(); ++from)
        if (int(from) != rank_)
          std::copy(all_.calls_[from].values + at[from], all_.calls_[from].values + at[from + 1], values + at[from]);
      all_.barrier_.arrive_and_wait();
    }

    void broadcast(std::byte* values, size_t bytes, int root) override {
      post(values, {});
      if (rank_ != root) std::copy_n(all_.calls_[size_t(root)].values, bytes, values);
      all_.barrier_.arrive_and_wait();
    }

    void leave(int) override {}

   private:
    void post(const std::byte* values, std::span<const size_t> at) {
      all_.calls_[size_t(rank_)] = {values, {at.begin(), at.end()}};
      all_.barrier_.arrive_and_wait();
    }

    ThreadRanks& all_;
    int rank_;
  };

  std::barrier<> barrier_;
  std::vector<Call> calls_;
};

}  // namespace cortado
