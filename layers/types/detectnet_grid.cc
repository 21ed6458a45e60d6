#include "layers/types/detectnet_grid.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/text/text.h"
#include "layers/types/object_images.h"

namespace cortado {

namespace {

constexpr int64_t kGridNumbers = 8;     ///< of a cell, before those of classes
constexpr double kGridLeast = 0x1p-23;  ///< areas below it are none
const std::string kGridOwn = "detectnet_groundtruth_param.";

/// The cells of an axis that [low, high) overlaps.
struct GridRange {
  int64_t begin, end;
};

GridRange cells_of(double low, double high, double stride, int64_t cells) {
  const auto index = [&](double at) { return int64_t(std::clamp(at, 0.0, double(cells))); };
  return {index(std::floor(low / stride)), index(std::ceil(high / stride))};
}

double common_length(double low, double high, double other_low, double other_high) {
  return std::max(0.0, std::min(high, other_high) - std::max(low, other_low));
}

}  // namespace

DetectNetGrid::DetectNetGrid(const caffe::DetectNetGroundTruthParameter& param) : param_(param) {
  const uint32_t stride = require_between(kGridOwn + "stride", param.stride(), 1, kObjectMostSide);
  for (const auto& [size, name] :
       {std::pair(param.image_size_x(), "image_size_x"), {param.image_size_y(), "image_size_y"}}) {
    require_between(kGridOwn + name, size, 1, kObjectMostSide);
    if (size % stride != 0)
      throw FieldError(kGridOwn + name,
                       "it is " + std::to_string(size) + ", not a multiple of stride: " + std::to_string(stride),
                       "set the size of the net's images, for example " + std::to_string((size / stride + 1) * stride));
  }
  if (!(param.scale_cvg() >= 0 && std::isfinite(param.scale_cvg())))
    throw FieldError(kGridOwn + "scale_cvg", "it is " + to_text(param.scale_cvg()) + ", but must be 0 or more");
  for (int i = 0; i < param.object_class_size(); ++i) {
    const auto& mapping = param.object_class(i);
    require_between(entry(kGridOwn + "object_class", i) + ".dst", mapping.dst(), 0, kObjectMostSide);
    classes_[mapping.src()] = mapping.dst();
  }
  if (classes_.empty()) classes_[1] = 0;  // as in NVIDIA's
  int64_t most = 0;
  for (const auto& [from, to] : classes_) most = std::max(most, to);
  channels_ = kGridNumbers + most + 1;
  height_ = param.image_size_y() / stride, width_ = param.image_size_x() / stride;
}

void DetectNetGrid::write(std::span<const DetectNetBox> boxes, float* to) const {
  std::fill_n(to, shape().count(), 0.0f);
  for (DetectNetBox box : boxes) {
    const auto found = classes_.find(box.label);
    if (found == classes_.end()) continue;
    if (param_.crop_bboxes()) {
      const double right = std::min(box.x + box.width, double(param_.image_size_x()));
      const double bottom = std::min(box.y + box.height, double(param_.image_size_y()));
      box.x = std::max(box.x, 0.0), box.y = std::max(box.y, 0.0);
      box.width = right - box.x, box.height = bottom - box.y;
    }
    if (box.width > 0 && box.height > 0 && box.width * box.height >= kGridLeast) write_box(box, found->second, to);
  }
}

/// The side of the coverage of a box's side.
double DetectNetGrid::covered(double side) const {
  const double shrunk = side * double(param_.scale_cvg());
  if (param_.gridbox_type() == caffe::DetectNetGroundTruthParameter::GRIDBOX_MAX)
    return std::min(double(param_.max_cvg_len()), shrunk);
  return std::min(side, std::max(double(param_.min_cvg_len()), shrunk));
}

void DetectNetGrid::write_box(const DetectNetBox& box, int64_t label, float* to) const {
  const double stride = param_.stride(), width = covered(box.width), height = covered(box.height);
  const double left = box.x + (box.width - width) / 2, top = box.y + (box.height - height) / 2;
  const double least = param_.obj_norm() ? 0 : 1, norm = std::max(least, stride * stride / (width * height));
  const int64_t places = height_ * width_;
  const GridRange columns = cells_of(left, left + width, stride, width_);
  const GridRange rows = cells_of(top, top + height, stride, height_);
  for (int64_t h = rows.begin; h < rows.end; ++h)
    for (int64_t w = columns.begin; w < columns.end; ++w) {
      const double x = double(w) * stride, y = double(h) * stride;
      const double area =
          common_length(left, left + width, x, x + stride) * common_length(top, top + height, y, y + stride);
      if (area / (stride * stride) <= kGridLeast) continue;
      float* cell = to + h * width_ + w;
      const double numbers[] = {
          1, box.x - x, box.y - y, box.x + box.width - x, box.y + box.height - y, 1 / box.width, 1 / box.height, norm};
      for (int64_t i = 0; i < kGridNumbers; ++i) cell[i * places] = float(numbers[i]);
      for (int64_t i = kGridNumbers; i < channels_; ++i) cell[i * places] = i == kGridNumbers + label ? 1.0f : 0.0f;
    }
}

}  // namespace cortado
