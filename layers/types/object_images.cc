#include "layers/types/object_images.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/text/text.h"
#include "data/formats/text.h"

namespace cortado {

namespace {

constexpr int64_t kObjectImagesMostRows = int64_t(1) << 24;

}  // namespace

PixelScale pixel_scale(const caffe::TransformationParameter& param) {
  const int count = param.mean_value_size();
  if (count != 0 && count != 1 && count != 3)
    throw FieldError("transform_param.mean_value", std::to_string(count) + " mean values for images of 3 channels",
                     "set one, or one for each channel");
  PixelScale pixels;
  for (int c = 0; c < 3 && count > 0; ++c) pixels.means[c] = param.mean_value(count == 1 ? 0 : c);
  pixels.scale = param.scale();
  return pixels;
}

uint32_t require_between(const std::string& field, uint32_t value, uint32_t least, uint32_t most) {
  if (value < least || value > most)
    throw FieldError(field, "it is " + std::to_string(value) + ", but must be in [" + std::to_string(least) + ", " +
                                std::to_string(most) + "]");
  return value;
}

std::vector<ObjectBranch> object_branches(const UintField& rates, const std::string& rate_field,
                                          const UintField& widths, const UintField& heights, const std::string& own) {
  const int count = rates.size();
  for (const auto& [given, name] : {std::pair(widths.size(), "field_w"), {heights.size(), "field_h"}})
    if (given != count)
      throw FieldError(own + name,
                       "it has " + count_of(given, "value", "values") + ", but " +
                           rate_field.substr(rate_field.find('.') + 1) + " has " + std::to_string(count),
                       "set one for each branch");
  std::vector<ObjectBranch> branches;
  for (int i = 0; i < count; ++i)
    branches.push_back({float(require_between(rate_field, rates[i], 1, kObjectMostSide)),
                        float(require_between(own + "field_w", widths[i], 1, kObjectMostSide)),
                        float(require_between(own + "field_h", heights[i], 1, kObjectMostSide))});
  return branches;
}

void set_places(std::vector<ObjectBranch>& branches, const std::string& rate_field, int height, int width) {
  for (ObjectBranch& branch : branches) {
    branch.width = int64_t(std::round(float(width) / branch.rate));
    branch.height = int64_t(std::round(float(height) / branch.rate));
    if (branch.width == 0 || branch.height == 0)
      throw FieldError(rate_field, "a rate of " + to_text(branch.rate) + " leaves no position of " +
                                       std::to_string(width) + " x " + std::to_string(height) + " pixels");
  }
}

void show_objects(const ObjectView& view, int height, int width, const LeastSides& least, SampleObjects& objects) {
  objects.left = view.x.to, objects.width = view.x.copied, objects.top = view.y.to, objects.height = view.y.copied;
  for (Box& region : objects.regions) region = view.place(region);
  for (SampleObject& object : objects.objects) {
    object.box = view.place(object.box);
    const float x = (object.box.x0 + object.box.x1) / 2, y = (object.box.y0 + object.box.y1) / 2;
    const bool in_sight = x >= 0 && x < float(width) && y >= 0 && y < float(height);
    const bool small = box_height(object.box, 1) < least.height || box_width(object.box, 1) < least.width;
    if (!in_sight || small) object.ignored = true;
  }
}

float* write_objects(const SampleObjects& objects, int64_t n, float* to) {
  for (const SampleObject& object : objects.objects) {
    const Box& box = object.box;
    const float row[8] = {float(n),
                          box.x0,
                          box.y0,
                          box.x1,
                          box.y1,
                          object.label,
                          object.ignored ? 1.0f : 0.0f,
                          object.difficult ? 1.0f : 0.0f};
    to = std::copy_n(row, 8, to);
  }
  return to;
}

void ObjectImages::open(const std::string& source, bool difficult, int64_t batch) {
  file_ = data::read_object_file(source, difficult);
  for (const data::ObjectImage& image : file_->images) {
    most_objects_ = std::max(most_objects_, int64_t(image.objects.size()));
    if (most_objects_ * batch > kObjectImagesMostRows)
      fail(image, "it has " + std::to_string(most_objects_) + " objects, too many for a batch", "");
  }
}

void ObjectImages::fail(const data::ObjectImage& listed, const std::string& what, const std::string& hint) const {
  const std::string path = data::printable(listed.path);
  Diagnostic mistake;
  mistake.place = {file_->path, listed.line, 1, path};
  mistake.message = path + ": " + what;
  mistake.hint = hint;
  throw Error(ExitCode::kData, mistake);
}

void ObjectImages::read(const data::ObjectImage& listed) {
  path_.assign(root_folder_).append(listed.path);
  try {
    decoder_.decode(reader_.read(path_), data::ColorMode::kColor, image_);
  } catch (const data::SampleError& error) {
    fail(listed, error.what(), error.hint());
  }
}

void ObjectImages::mirror() {
  const auto channels = size_t(image_.channels), width = size_t(image_.width);
  for (size_t h = 0; h < size_t(image_.height); ++h) {
    uint8_t* row = &image_.pixels[h * width * channels];
    for (size_t w = 0; w < width / 2; ++w)
      std::swap_ranges(row + w * channels, row + (w + 1) * channels, row + (width - 1 - w) * channels);
  }
}

void ObjectImages::resize(int height, int width) {
  if (height == image_.height && width == image_.width) return;
  data::resize_bilinear(image_, height, width, other_);
  std::swap(image_, other_);
}

void ObjectImages::place(const data::ObjectImage& listed, int read_height, int read_width, bool mirrored,
                         SampleObjects& to) const {
  const auto width = float(read_width);
  const float scale_x = float(image_.width) / width, scale_y = float(image_.height) / float(read_height);
  const auto moved = [&](Box box) {
    if (mirrored) box = {width - box.x1, box.y0, width - box.x0, box.y1};
    return Box{box.x0 * scale_x, box.y0 * scale_y, box.x1 * scale_x, box.y1 * scale_y};
  };
  to.objects.clear(), to.regions.clear();
  for (const data::FileObject& object : listed.objects)
    to.objects.push_back({moved(object.box), float(object.label), object.ignored, object.difficult});
  for (const Box& region : listed.regions) to.regions.push_back(moved(region));
}

void ObjectImages::cut(const ObjectView& view, const PixelScale& pixels, int64_t height, int64_t width, float* to) {
  if (view.x.length < image_.width || view.y.length < image_.height) {
    other_.resize(image_.channels, view.y.length, view.x.length);
    data::copy_part(image_.sample(), {view.y.first, view.x.first, view.y.length, view.x.length}, other_.pixels.data());
    std::swap(image_, other_);
  }
  resize(view.y.scaled, view.x.scaled);
  for (int c = 0; c < 3; ++c)
    for (int h = 0; h < view.y.copied; ++h) {
      const uint8_t* from = &image_.pixels[3 * (size_t(view.y.from + h) * size_t(image_.width) + size_t(view.x.from))];
      float* row = to + (int64_t(c) * height + view.y.to + h) * width + view.x.to;
      for (int w = 0; w < view.x.copied; ++w) row[w] = (float(from[3 * w + c]) - pixels.means[c]) * pixels.scale;
    }
}

}  // namespace cortado
