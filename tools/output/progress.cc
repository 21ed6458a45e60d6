#include "tools/output/progress.h"

#include "core/log.h"

namespace cortado::tools {

namespace {

constexpr std::chrono::milliseconds kLogEvery(500);

}  // namespace

CountedProgress::CountedProgress(std::string title, bool logs)
    : title_(std::move(title)), logs_(logs), start_(std::chrono::steady_clock::now()) {}

std::function<void(int64_t, int64_t)> CountedProgress::callback() {
  if (!line_.shown() && !logs_) return {};
  return [this](int64_t done, int64_t total) { update(done, total); };
}

void CountedProgress::log(int64_t done, int64_t total) {
  const auto now = std::chrono::steady_clock::now();
  const bool begins_again = done < last_done_;
  last_done_ = done;
  if (now - logged_ < kLogEvery && done != total && !begins_again) return;
  logged_ = now;
  log_info() << title_ << ": " << done << (total > 0 ? " of " + std::to_string(total) : "");
}

void CountedProgress::update(int64_t done, int64_t total) {
  if (logs_) return log(done, total);
  if (!line_.due()) return;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const double rate = seconds > 0 ? double(done) / seconds : 0;
  const std::string speed = count_text(int64_t(rate)) + "/s";
  if (total <= 0) return line_.show({title_ + " " + count_text(done), speed});
  const double share = double(done) / double(total);
  line_.show({{title_ + " " + count_text(done) + "/" + count_text(total), 0},
              {std::to_string(int(share * 100)) + "%", 0, " "},
              {progress_bar(share), 2, " "},
              {speed, 1},
              {"ETA " + duration_text(rate > 0 ? double(total - done) / rate : -1), 0}});
}

}  // namespace cortado::tools
