#include "tools/starter/schedule.h"

#include <algorithm>
#include <cmath>

#include "tools/output/terminal.h"

namespace cortado::tools {

namespace {

constexpr int64_t kScheduleSeen =
    500000;  ///< images that a net from random weights is trained with, repeated ones counted
constexpr int64_t kSeenByTrained = 60000;  ///< images for a net from pretrained weights
constexpr int64_t kSeenByLast = 30000;     ///< images if only the last layer is trained
constexpr float kSlower = 0.1F;            ///< factor of the recipe's rate for pretrained weights

int64_t batch_for(int64_t images, int64_t at_once) {
  const int64_t wanted = images < 500 ? 16 : images < 4000 ? 32 : 64;
  return std::max<int64_t>(1, std::min({wanted, std::max<int64_t>(at_once, 16), images}));
}

int64_t epochs_for(int64_t images, const ScheduleOptions& options) {
  const auto until = [&](int64_t seen, int64_t least, int64_t most) {
    return std::clamp((seen + images - 1) / images, least, most);
  };
  if (!options.from_weights) return until(kScheduleSeen, 6, 80);
  return options.slow ? until(kSeenByTrained, 4, 40) : until(kSeenByLast, 4, 20);
}

/// The largest of 1, 2, 5, 10, 20, ... up to `value`.
int64_t round_number(int64_t value) {
  int64_t power = 1;
  while (power * 10 <= value) power *= 10;
  return value >= 5 * power ? 5 * power : value >= 2 * power ? 2 * power : power;
}

float rounded(double value) { return float(std::stod(number_text("%.2g", value))); }

}  // namespace

Schedule choose_schedule(int64_t images, const Recipe& recipe, const ScheduleOptions& options) {
  Schedule out;
  const auto updates = [](int64_t count) { return count_text(count) + (count == 1 ? " update" : " updates"); };
  const auto say = [&](const std::string& what, const std::string& value, const std::string& why) {
    out.choices.push_back({what, value, why});
  };
  out.batch = options.batch > 0 ? options.batch : batch_for(images, recipe.batch_at_once);
  out.test_batch = std::min<int64_t>(out.batch, 50);
  const int64_t per_epoch = (images + out.batch - 1) / out.batch;
  say("batch_size", std::to_string(out.batch), count_text(images) + " images, so " + updates(per_epoch) + " an epoch");
  out.epochs = options.epochs > 0 ? options.epochs : epochs_for(images, options);
  out.iterations = (out.epochs * images + out.batch - 1) / out.batch;
  say("max_epoch", std::to_string(out.epochs),
      "the net sees " + count_text(out.epochs * images) + " images, " + updates(out.iterations));
  const double in_proportion = double(recipe.base_lr) * double(out.batch) / double(recipe.batch);
  out.base_lr = rounded(in_proportion * (options.slow ? double(kSlower) : 1));
  const std::string origin = recipe.source.empty()
                                 ? "usual"
                                 : number_text("%g", double(recipe.base_lr)) + " for " + std::to_string(recipe.batch) +
                                       " images an update in " + recipe.source;
  say("base_lr", number_text("%g", double(out.base_lr)),
      origin + ", in proportion to the batch" + (options.slow ? "; a tenth of that, to fine-tune weights" : ""));
  out.warmup = std::min<int64_t>(std::clamp<int64_t>(out.iterations / 20, 1, 500), out.iterations - 1);
  say("warmup_iter", std::to_string(out.warmup), "the rate rises to base_lr, then falls along a cosine to 0");
  out.test_interval = std::max<int64_t>(per_epoch, std::max<int64_t>(1, out.iterations / 40));
  out.snapshot = std::max<int64_t>(1, out.iterations / 5);
  out.display = std::clamp<int64_t>(round_number(std::max<int64_t>(1, out.iterations / 50)), 1, 100);
  return out;
}

}  // namespace cortado::tools
