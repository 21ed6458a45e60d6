#include "tools/train/train_view.h"

#include <algorithm>

#include "core/log.h"

namespace cortado::tools {

namespace {

/// Scores of one name are the elements of one output. They become one item, because ten classes' accuracies would fill
/// the window.
std::vector<std::string> score_list(const std::vector<Score>& scores) {
  std::vector<std::string> out;
  for (size_t i = 0, end; i < scores.size(); i = end) {
    double least = scores[i].value, most = least;
    for (end = i + 1; end < scores.size() && scores[end].name == scores[i].name; ++end) {
      least = std::min(least, scores[end].value);
      most = std::max(most, scores[end].value);
    }
    out.push_back(scores[i].name + " " + number_text("%.4g", least));
    if (end > i + 1) out.back() += " to " + number_text("%.4g", most) + " (" + std::to_string(end - i) + " values)";
  }
  return out;
}

constexpr size_t kCells = 12;  ///< of a sparkline

std::vector<double> last_of(const std::vector<double>& values, size_t most) {
  return {values.end() - int64_t(std::min(values.size(), most)), values.end()};
}

bool has_elements(const std::vector<Score>& scores, const std::string& name) {
  return std::count_if(scores.begin(), scores.end(), [&](const Score& score) { return score.name == name; }) > 1;
}

}  // namespace

void TrainView::say(const std::string& text) {
  if (!line_.shown()) return;
  line_.erase();
  show_error(text);
}

void TrainView::on_start(const Progress& progress, const std::vector<TestScore>&) {
  start_ = std::chrono::steady_clock::now();
  window_iter_ = progress.iter;
}

void TrainView::on_resume(const Progress& progress, const std::string& state_path) {
  say("resumed from iteration " + std::to_string(progress.iter) + ", " + state_path);
}

/// Computes the speed over windows of at least half a second, so that it does not flicker.
void TrainView::update_speed(const Progress& progress) {
  const double seconds = progress.seconds - window_seconds_;
  if (seconds < 0.5 && images_per_second_ > 0) return;
  if (seconds <= 0) return;
  images_per_second_ = double(progress.iter - window_iter_) * double(progress.images_per_iter) / seconds;
  window_iter_ = progress.iter;
  window_seconds_ = progress.seconds;
}

/// At any width the line keeps the progress, the loss and the time left.
std::vector<ProgressField> TrainView::fields(const Progress& progress) {
  const double share = progress.max_iter > 0 ? double(progress.iter) / double(progress.max_iter) : 0;
  std::vector<ProgressField> out = {
      {"train " + std::to_string(progress.iter) + "/" + std::to_string(progress.max_iter), 2},
      {std::to_string(int(share * 100)) + "%", 0, " "},
      {progress_bar(share), 3, " "},
      {"loss " + number_text("%.3g", progress.loss), 0, " "}};
  const auto add = [&](std::string text, int rank, const char* glue = " | ") {
    out.emplace_back(std::move(text), rank, glue);
  };
  if (const std::string line = draws_ ? sparkline(losses_.means(kCells)) : ""; !line.empty()) add(line, 5, " ");
  if (window_ > 1)
    add("(avg" + std::to_string(window_) + " " + number_text("%.3g", progress.smoothed_loss) + ")", 6, " ");
  if (progress.records > 0 && progress.images_per_iter > 0) {
    const double epochs = double(progress.images_per_iter) / double(progress.records);
    add("epoch " + number_text("%.1f", double(progress.iter) * epochs) + "/" +
            number_text("%.4g", double(progress.max_iter) * epochs),
        4);
  }
  add("lr " + number_text("%.3g", progress.rate), 5);
  if (progress.images_per_iter > 0) add(number_text("%.0f", images_per_second_) + " img/s", 7);
  if (progress.seconds > 0) add("data " + number_text("%.1f", 100 * progress.wait_seconds / progress.seconds) + "%", 8);
  const double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const int64_t done = progress.iter - progress.start_iter;
  if (done > 0) add("ETA " + duration_text(passed / double(done) * double(progress.max_iter - progress.iter)), 0);
  for (size_t i = 0; i < best_.size(); ++i) {
    add((i == 0 ? "best " : "") + best_[i], 10 + int(i), i == 0 ? " | " : ", ");
    if (const std::string line = draws_ && i == 0 ? sparkline(last_of(scores_, kCells)) : ""; !line.empty())
      add(line, 9, " ");
  }
  return out;
}

void TrainView::on_iteration(const Progress& progress) {
  if (line_.shown()) losses_.add(progress.loss);
  if (!line_.due()) return;
  update_speed(progress);
  line_.show(fields(progress));
}

void TrainView::on_display(const Progress& progress, const std::vector<Score>&) {
  constexpr double kTooMuch = 0.2;
  if (warned_of_waiting_ || progress.seconds < 2 || progress.wait_seconds < kTooMuch * progress.seconds) return;
  warned_of_waiting_ = true;
  const std::string text = "training waits for data " +
                           number_text("%.0f", 100 * progress.wait_seconds / progress.seconds) +
                           "% of the time: raise --data-threads, or store smaller images";
  if (line_.shown())
    say("hint: " + text);
  else
    log_info() << text;
}

void TrainView::on_test_batch(const Progress& progress, int net, int done, int of) {
  if (!line_.due()) return;
  line_.show({{"test #" + std::to_string(net) + " at " + std::to_string(progress.iter), 1},
              {std::to_string(done) + "/" + std::to_string(of), 0, ": "},
              {progress_bar(double(done) / double(of > 0 ? of : 1)), 2, " "}});
}

void TrainView::on_test(const Progress& progress, int net, const std::vector<Score>& scores,
                        const std::vector<BestTestScore>& best) {
  const std::string own = net > 0 ? "#" + std::to_string(net) + " " : "";
  for (const Score& score : scores)
    if (has_elements(scores, score.name)) without_best_.insert(own + score.name);
  say(fitted_list("test" + (net > 0 ? " #" + std::to_string(net) : "") + " at " + std::to_string(progress.iter) + ": ",
                  score_list(scores), widest_line()));
  const auto score = std::find_if(scores.begin(), scores.end(), [](const Score& one) { return one.loss_weight == 0; });
  if (net == 0 && score != scores.end()) scores_.push_back(score->value);
  best_.clear();
  for (const BestTestScore& score : best)
    if (!without_best_.contains(score.name))
      best_.push_back(score.name + " " + number_text("%.4g", score.value) + "@" + std::to_string(score.iter));
}

void TrainView::on_snapshot(const Progress&, const std::string& state_path) { say("snapshot " + state_path); }

void TrainView::on_end(const Progress& progress, Outcome outcome) {
  const double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  std::vector<std::string> items = {(outcome == Outcome::kFinished ? "trained " : "stopped at ") +
                                        std::to_string(progress.iter) + " iterations in " + duration_text(passed),
                                    "loss " + number_text("%.4g", progress.smoothed_loss)};
  for (const std::string& best : best_) items.push_back("best " + best);
  say(fitted_list("", items, widest_line()));
}

}  // namespace cortado::tools
