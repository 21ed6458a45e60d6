#include "tools/image_input.h"

#include <cmath>
#include <cstdlib>
#include <numeric>

#include "core/error.h"
#include "data/image.h"
#include "data/mean_file.h"
#include "tools/flags.h"

namespace cortado::tools {

std::vector<float> channel_means(const std::string& text, int channels) {
  std::vector<float> means;
  if (text.empty()) return std::vector<float>(size_t(channels), 0.0f);
  bool numbers = true;
  for (const std::string& part : split(text, ',')) {
    char* end = nullptr;
    means.push_back(std::strtof(part.c_str(), &end));
    numbers = numbers && !part.empty() && *end == '\0' && std::isfinite(means.back());
  }
  if (numbers) {
    if (means.size() == 1) means.resize(size_t(channels), means[0]);
  } else {
    const auto image = data::read_mean_file(text);
    const size_t plane = size_t(image->height) * size_t(image->width);
    means.clear();
    for (int c = 0; c < image->channels; ++c) {
      const auto first = image->values.begin() + int64_t(size_t(c) * plane);
      means.push_back(float(std::accumulate(first, first + int64_t(plane), 0.0) / double(plane)));
    }
  }
  if (means.size() == size_t(channels)) return means;
  throw Error(ExitCode::kData, "--mean=" + text + " has " + std::to_string(means.size()) +
                                   " channels, the net's input has " + std::to_string(channels));
}

void prepare_image(const std::string& path, const Preparation& to, float* out) {
  data::Image resized,
      image = data::read_image(path, to.channels == 1 ? data::ColorMode::kGray : data::ColorMode::kColor);
  if (image.height != to.height || image.width != to.width)
    data::resize_bilinear(image, to.height, to.width, resized);
  else
    std::swap(image, resized);
  for (int c = 0; c < to.channels; ++c)
    for (int i = 0; i < to.height * to.width; ++i)
      *out++ = (float(resized.pixels[size_t(i * to.channels + c)]) - to.mean[size_t(c)]) * to.scale;
}

}  // namespace cortado::tools
