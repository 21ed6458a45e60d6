// Images that keep their size are decoded in part, like those of a database. Others are decoded as a whole and resized
// when they are opened.
#include "data/sources/image_source.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "data/image/image_file_reader.h"
#include "data/sources/image_list.h"

namespace cortado::data {

namespace {

struct Files {
  explicit Files(const ImageSourceOptions& given) : options(given), list(given.list, given.label_numbers) {}
  const ImageSourceOptions options;
  const ImageList list;
};

struct Size {
  int height, width;
};

/// The new size of an image of this size.
Size new_size(const ImageSizes& sizes, int height, int width) {
  if (sizes.height > 0) return {sizes.height, sizes.width};
  double scale = 1;
  if (sizes.short_side > 0)
    scale = double(sizes.short_side) / std::min(height, width);
  else
    scale = std::max({1.0, double(sizes.min_height) / height, double(sizes.min_width) / width});
  const double rows = std::max(std::round(height * scale), 1.0), columns = std::max(std::round(width * scale), 1.0);
  if (rows * columns > double(kMaxPixels))
    throw SampleError("the image is " + std::to_string(height) + "x" + std::to_string(width) +
                      ", and resizing it would exceed the maximum size");
  return {int(rows), int(columns)};
}

class FileReader : public SampleReader {
 public:
  FileReader(std::shared_ptr<const Files> files, ColorMode mode) : files_(std::move(files)), mode_(mode) {}

  Sample open(const Record& record, Label& label) override {
    const ListedImage& listed = files_->list[size_t(record.number)];
    label = listed.label;
    path_.assign(files_->options.root).append(listed.name);
    content_ = file_.read(path_);
    if (!files_->options.sizes.any()) return decoder_.open(content_, mode_);
    decoder_.decode(content_, mode_, resized_);
    bring_to_size(files_->options.sizes, resized_, spare_);
    Sample sample = resized_.sample();
    sample.bytes = nullptr;
    return sample;
  }

  bool holds_floats() const override { return false; }
  bool decodes() const override { return true; }
  std::string_view file() const override { return files_->options.sizes.any() ? std::string_view() : content_; }

  SamplePart read_part(const SourceWindow& window, bool, const PixelPlace& place) override {
    if (!files_->options.sizes.any()) return decoder_.read(window, place);
    const size_t bytes = size_t(resized_.channels) * size_t(window.height) * size_t(window.width);
    return copy_part(resized_.sample(), {window.top, window.left, window.height, window.width}, place(bytes));
  }

 private:
  std::shared_ptr<const Files> files_;
  ColorMode mode_;
  std::string path_;
  ImageFileReader file_;
  std::string_view content_;
  ImageDecoder decoder_;
  Image resized_, spare_;
};

class ListFinder : public RecordFinder {
 public:
  explicit ListFinder(std::shared_ptr<const Files> files) : files_(std::move(files)) {}
  Record find(uint64_t number) override { return {files_->list[size_t(number)].name, {}}; }

 private:
  std::shared_ptr<const Files> files_;
};

class ImageSource : public DataSource {
 public:
  explicit ImageSource(const ImageSourceOptions& options) : files_(std::make_shared<const Files>(options)) {}

  const std::string& path() const override { return files_->list.path(); }
  int64_t records() const override { return int64_t(files_->list.size()); }
  int64_t bytes() const override { return 0; }
  std::unique_ptr<RecordFinder> finder(bool) const override { return std::make_unique<ListFinder>(files_); }
  std::unique_ptr<SampleReader> reader(ColorMode mode) const override {
    return std::make_unique<FileReader>(files_, mode);
  }
  void visit_labels(int64_t most, const LabelVisit& visit) const override {
    if (files_->options.label_numbers > 1) return;
    for_each_evenly(records(), most, [&](uint64_t number) {
      const ListedImage& image = files_->list[size_t(number)];
      visit({image.name, {}, number}, image.label);
    });
  }
  void fail(const Record& record, const SampleError& error) const override {
    files_->list.fail(size_t(record.number), error);
  }

 private:
  std::shared_ptr<const Files> files_;
};

}  // namespace

void bring_to_size(const ImageSizes& sizes, Image& image, Image& spare) {
  const Size size = new_size(sizes, image.height, image.width);
  if (size.height == image.height && size.width == image.width) return;
  resize_bilinear(image, size.height, size.width, spare);
  std::swap(image, spare);
}

std::shared_ptr<const DataSource> image_source(const ImageSourceOptions& options) {
  return std::make_shared<ImageSource>(options);
}

}  // namespace cortado::data
