#include "data/sources/pair_source.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "data/formats/text.h"
#include "data/image/image_file_reader.h"
#include "data/sources/list_file.h"

namespace cortado::data {

namespace {

struct PairSourcePair {
  std::string_view image, labels;
};

class Pairs {
 public:
  explicit Pairs(const PairSourceOptions& given)
      : options(given),
        file(given.list, "image",
             given.has_labels ? "a line is the path of an image, a space and the path of its labels"
                              : "a line is the path of an image",
             [this](std::string_view line) -> LineFault {
               const auto [image, labels] = options.has_labels ? split_last_word(line) : LastWord{line, {}};
               if (image.empty()) return {"the path of the labels is missing"};
               pairs.push_back({image, labels});
               return {};
             }) {}

  const PairSourceOptions options;
  std::vector<PairSourcePair> pairs;
  const ListFile file;
};

/// Like cv::resize INTER_NEAREST.
void resize_nearest(const Image& image, int height, int width, Image& out) {
  out.resize(1, height, width);
  const double down = double(image.height) / height, across = double(image.width) / width;
  for (int y = 0; y < height; ++y) {
    const int64_t row = std::min(int64_t(y * down), int64_t(image.height) - 1) * image.width;
    for (int x = 0; x < width; ++x)
      out.pixels[size_t(y) * size_t(width) + size_t(x)] =
          image.pixels[size_t(row + std::min(int64_t(x * across), int64_t(image.width) - 1))];
  }
}

std::string size_text(const Image& image) { return std::to_string(image.height) + "x" + std::to_string(image.width); }

class PairReader : public SampleReader {
 public:
  PairReader(std::shared_ptr<const Pairs> pairs, ColorMode mode) : pairs_(std::move(pairs)), mode_(mode) {}

  Sample open(const Record& record, int32_t& label) override {
    const PairSourceOptions& options = pairs_->options;
    const PairSourcePair& pair = pairs_->pairs[size_t(record.number)];
    decode(pair.image, mode_, image_);
    if (options.height > 0 && (image_.height != options.height || image_.width != options.width)) {
      resize_bilinear(image_, options.height, options.width, spare_);
      std::swap(image_, spare_);
    }
    if (options.has_labels) open_labels(pair.labels);
    merge();
    label = options.tells_size ? size_number() : 0;
    Sample sample = merged_.sample();
    sample.bytes = nullptr;
    return sample;
  }

  bool holds_floats() const override { return false; }
  bool decodes() const override { return true; }

  SamplePart read_part(const SourceWindow& window, bool, const PixelPlace& place) override {
    const size_t bytes = size_t(merged_.channels) * size_t(window.height) * size_t(window.width);
    return copy_part(merged_.sample(), {window.top, window.left, window.height, window.width}, place(bytes));
  }

 private:
  void decode(std::string_view name, ColorMode mode, Image& image) {
    path_.assign(pairs_->options.root).append(name);
    decoder_.decode(file_.read(path_), mode, image);
  }

  void open_labels(std::string_view name) {
    const PairSourceOptions& options = pairs_->options;
    try {
      decode(name, ColorMode::kGray, labels_);
    } catch (const SampleError& error) {
      throw SampleError("its labels " + printable(name) + ": " + error.what(), error.hint());
    }
    if (options.height > 0) {
      resize_nearest(labels_, image_.height, image_.width, spare_);
      std::swap(labels_, spare_);
    }
    if (labels_.height != image_.height || labels_.width != image_.width)
      throw SampleError("the image is " + size_text(image_) + ", but its labels are " + size_text(labels_),
                        "use equal sizes, or set new_height and new_width to resize both");
    if (!options.binary) return;
    for (uint8_t& value : labels_.pixels) value = value >= 128;
  }

  /// Merges row by row: pixels, labels and padding.
  void merge() {
    const PairSourceOptions& options = pairs_->options;
    const int c = image_.channels, height = std::max(image_.height, options.pad_height),
              width = std::max(image_.width, options.pad_width);
    uint8_t fill[4] = {};
    for (int k = 0; k < std::min(c, 4) && !options.fill.empty(); ++k)
      fill[k] =
          uint8_t(std::clamp(std::nearbyint(options.fill[std::min(size_t(k), options.fill.size() - 1)]), 0.0f, 255.0f));
    merged_.resize(c + 1, height, width);
    uint8_t* to = merged_.pixels.data();
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x, to += c + 1) {
        const bool inside = y < image_.height && x < image_.width;
        const size_t at = inside ? size_t(y) * size_t(image_.width) + size_t(x) : 0;
        for (int k = 0; k < c; ++k) to[k] = inside ? image_.pixels[at * size_t(c) + size_t(k)] : fill[k];
        to[c] = inside && options.has_labels ? labels_.pixels[at] : options.fill_label;
      }
  }

  int32_t size_number() const {
    const PairSourceOptions& options = pairs_->options;
    const int height = options.pad_height > 0 ? std::min(image_.height, options.pad_height) : image_.height,
              width = options.pad_width > 0 ? std::min(image_.width, options.pad_width) : image_.width;
    if (height > kMaxPackedSide || width > kMaxPackedSide)
      throw SampleError("the image is " + size_text(image_) + ", but the limit for its size is " +
                        std::to_string(kMaxPackedSide));
    return packed_size(height, width);
  }

  std::shared_ptr<const Pairs> pairs_;
  ColorMode mode_;
  std::string path_;
  ImageFileReader file_;
  ImageDecoder decoder_;
  Image image_, labels_, spare_, merged_;
};

class PairFinder : public RecordFinder {
 public:
  explicit PairFinder(std::shared_ptr<const Pairs> pairs) : pairs_(std::move(pairs)) {}
  Record find(uint64_t number) override { return {pairs_->pairs[size_t(number)].image, {}}; }

 private:
  std::shared_ptr<const Pairs> pairs_;
};

class PairSource : public DataSource {
 public:
  explicit PairSource(const PairSourceOptions& options) : pairs_(std::make_shared<const Pairs>(options)) {}

  const std::string& path() const override { return pairs_->file.path(); }
  int64_t records() const override { return int64_t(pairs_->pairs.size()); }
  int64_t bytes() const override { return 0; }
  std::unique_ptr<RecordFinder> finder(bool) const override { return std::make_unique<PairFinder>(pairs_); }
  std::unique_ptr<SampleReader> reader(ColorMode mode) const override {
    return std::make_unique<PairReader>(pairs_, mode);
  }
  void fail(const Record& record, const SampleError& error) const override {
    const size_t number = size_t(record.number);
    pairs_->file.fail(number, pairs_->pairs[number].image, error);
  }

 private:
  std::shared_ptr<const Pairs> pairs_;
};

}  // namespace

std::shared_ptr<const DataSource> pair_source(const PairSourceOptions& options) {
  return std::make_shared<PairSource>(options);
}

}  // namespace cortado::data
