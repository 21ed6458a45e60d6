#include "tools/report/shown_image.h"

#include <algorithm>
#include <cmath>

#include "core/text/text.h"
#include "data/image/image.h"
#include "data/image/png.h"
#include "tools/infer/image_input.h"

namespace cortado::tools {

namespace {

std::vector<float> means_of(const caffe::TransformationParameter& transform, int channels) {
  if (transform.has_mean_file()) return channel_means(transform.mean_file(), channels);
  std::vector<float> means(transform.mean_value().begin(), transform.mean_value().end());
  if (means.size() <= 1) means.resize(size_t(channels), means.empty() ? 0 : means[0]);
  return means;
}

data::Image within(int most_side, data::Image image) {
  const int longest = std::max(image.height, image.width);
  if (longest <= most_side) return image;
  data::Image small;
  data::resize_bilinear(image, std::max(1, image.height * most_side / longest),
                        std::max(1, image.width * most_side / longest), small);
  return small;
}

}  // namespace

SampleImages::SampleImages(const caffe::LayerParameter& layer, const Shape& batch, int most_side)
    : batch_(batch), most_side_(most_side) {
  if (!can_show()) return;
  const caffe::TransformationParameter& transform = layer.transform_param();
  if (transform.scale() != 0) scale_ = transform.scale();
  means_ = means_of(transform, int(batch[1]));
  means_.resize(size_t(batch[1]), 0);
}

bool SampleImages::can_show() const { return batch_.axes() == 4 && (batch_[1] == 1 || batch_[1] == 3); }

std::string SampleImages::show(const float* values) const {
  data::Image image;
  image.resize(int(batch_[1]), int(batch_[2]), int(batch_[3]));
  const int64_t plane = batch_[2] * batch_[3];
  for (int64_t c = 0; c < batch_[1]; ++c)
    for (int64_t i = 0; i < plane; ++i)
      image.pixels[size_t(i * batch_[1] + c)] =
          uint8_t(std::lround(std::clamp(values[c * plane + i] / scale_ + means_[size_t(c)], 0.0f, 255.0f)));
  image = within(most_side_, std::move(image));
  if (image.height * image.width <= 64 * 64) return "data:image/png;base64," + base64(data::encode_png(image));
  return "data:image/jpeg;base64," + base64(data::encode_image(image, "jpg"));
}

}  // namespace cortado::tools
