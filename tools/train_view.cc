#include "tools/train_view.h"

#include "core/log.h"

namespace cortado::tools {

namespace {

std::string score_list(const std::vector<Score>& scores) {
  std::string out;
  for (const Score& score : scores)
    out += (out.empty() ? "" : ", ") + score.name + " " + number_text("%.4g", score.value);
  return out;
}

}  // namespace

void TrainView::say(const std::string& text) {
  if (!line_.shown()) return;
  line_.erase();
  show_error(text);
}

void TrainView::on_start(const Progress& progress) {
  start_ = std::chrono::steady_clock::now();
  window_iter_ = progress.iter;
}

void TrainView::on_resume(const Progress& progress, const std::string& state_path) {
  say("resumed from iteration " + std::to_string(progress.iter) + ", " + state_path);
}

/// Speed over windows of half a second or more, so that it follows but does not flicker.
void TrainView::update_speed(const Progress& progress) {
  const double seconds = progress.seconds - window_seconds_;
  if (seconds < 0.5 && images_per_second_ > 0) return;
  if (seconds <= 0) return;
  images_per_second_ = double(progress.iter - window_iter_) * double(progress.images_per_iter) / seconds;
  window_iter_ = progress.iter;
  window_seconds_ = progress.seconds;
}

std::vector<std::string> TrainView::fields(const Progress& progress) {
  const double share = progress.max_iter > 0 ? double(progress.iter) / double(progress.max_iter) : 0;
  std::string loss = "loss " + number_text("%.3g", progress.loss);
  if (window_ > 1) loss += " (avg" + std::to_string(window_) + " " + number_text("%.3g", progress.smoothed_loss) + ")";
  std::vector<std::string> out = {"train " + std::to_string(progress.iter) + "/" + std::to_string(progress.max_iter) +
                                      " " + std::to_string(int(share * 100)) + "% " + progress_bar(share) + " " + loss,
                                  "lr " + number_text("%.3g", progress.rate)};
  if (progress.images_per_iter > 0) out.push_back(number_text("%.0f", images_per_second_) + " img/s");
  if (progress.seconds > 0)
    out.push_back("data " + number_text("%.1f", 100 * progress.wait_seconds / progress.seconds) + "%");
  const double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const int64_t done = progress.iter - progress.start_iter;
  if (done > 0)
    out.push_back("ETA " + duration_text(passed / double(done) * double(progress.max_iter - progress.iter)));
  if (!best_.empty()) out.push_back("best " + best_);
  return out;
}

void TrainView::on_iteration(const Progress& progress) {
  if (!line_.due()) return;
  update_speed(progress);
  line_.show(fields(progress));
}

void TrainView::on_display(const Progress& progress, const std::vector<Score>&) {
  constexpr double kTooMuch = 0.2;
  if (told_of_waiting_ || progress.seconds < 2 || progress.wait_seconds < kTooMuch * progress.seconds) return;
  told_of_waiting_ = true;
  const std::string text = "training waits for data " +
                           number_text("%.0f", 100 * progress.wait_seconds / progress.seconds) +
                           "% of the time: more --data-threads, or smaller stored images, would help";
  if (line_.shown())
    say("hint: " + text);
  else
    log_info() << text;
}

void TrainView::on_test_batch(const Progress& progress, int net, int done, int of) {
  if (!line_.due()) return;
  line_.show({"test #" + std::to_string(net) + " at " + std::to_string(progress.iter) + ": " + std::to_string(done) +
              "/" + std::to_string(of) + " " + progress_bar(double(done) / double(of > 0 ? of : 1))});
}

void TrainView::on_test(const Progress& progress, int net, const std::vector<Score>& scores,
                        const std::vector<BestTestScore>& best) {
  say("test" + (net > 0 ? " #" + std::to_string(net) : "") + " at " + std::to_string(progress.iter) + ": " +
      score_list(scores));
  best_.clear();
  for (const BestTestScore& score : best) {
    best_ += (best_.empty() ? "" : ", ") + score.name + " " + number_text("%.4g", score.value) + "@" +
             std::to_string(score.iter);
  }
}

void TrainView::on_snapshot(const Progress&, const std::string& state_path) { say("snapshot " + state_path); }

void TrainView::on_end(const Progress& progress, Outcome outcome) {
  const double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  say((outcome == Outcome::kFinished ? "trained " : "stopped at ") + std::to_string(progress.iter) + " iterations in " +
      duration_text(passed) + ", loss " + number_text("%.4g", progress.smoothed_loss) +
      (best_.empty() ? "" : ", best " + best_));
}

}  // namespace cortado::tools
