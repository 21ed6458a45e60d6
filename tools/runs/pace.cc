#include "tools/runs/pace.h"

#include <utility>

namespace cortado::runs {

std::optional<Pace::Since> Pace::now(const Progress& progress) {
  Progress last = std::exchange(last_, progress);
  if (!std::exchange(is_known_, true)) last.iter = progress.start_iter;
  const double seconds = progress.seconds - last.seconds,
               images = double(progress.iter - last.iter) * double(progress.images_per_iter);
  if (!(seconds > 0 && images > 0)) return std::nullopt;
  return Since{images / seconds, (progress.wait_seconds - last.wait_seconds) / seconds};
}

}  // namespace cortado::runs
