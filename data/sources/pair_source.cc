#include "data/sources/pair_source.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

#include "core/error.h"
#include "data/formats/text.h"
#include "data/image/image_file_reader.h"
#include "data/sources/list_file.h"

namespace cortado::data {

namespace {

/// A window of an image, corners included.
struct PairWindow {
  int32_t x1, y1, x2, y2;
};

struct PairSourcePair {
  std::string_view image, labels;
  PairWindow window;
};

/// Removes the window from the end of a line; false if there is none.
bool split_pair_window(std::string_view& line, PairWindow& window) {
  for (int32_t* corner : {&window.y2, &window.x2, &window.y1, &window.x1}) {
    const auto [before, word] = split_last_word(line);
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *corner);
    if (word.empty() || error != std::errc() || end != word.data() + word.size()) return false;
    line = before;
  }
  return true;
}

std::string pair_hint(const PairSourceOptions& options) {
  return std::string(options.has_labels ? "a line is the path of an image, a space and the path of its labels"
                                        : "a line is the path of an image") +
         (options.has_windows ? ", then the window x1 y1 x2 y2 in pixels" : "");
}

class Pairs {
 public:
  explicit Pairs(const PairSourceOptions& given)
      : options(given),
        file(given.list, "image", pair_hint(given), [this](std::string_view line) { return add(line); }) {}

  const PairSourceOptions options;
  std::vector<PairSourcePair> pairs;
  const ListFile file;

 private:
  LineFault add(std::string_view line) {
    PairWindow window{};
    if (options.has_windows) {
      if (!split_pair_window(line, window)) return {"the window is missing"};
      const int64_t height = int64_t(window.y2) - window.y1 + 1, width = int64_t(window.x2) - window.x1 + 1;
      if (height < 1 || width < 1) return {"the window is empty"};
      if (height > kMaxPixels / width) return {"the window is larger than the limit for images"};
    }
    const auto [image, labels] = options.has_labels ? split_two_paths(line, options.root) : LastWord{line, {}};
    if (image.empty()) return {"the path of the labels is missing"};
    pairs.push_back({image, labels, window});
    return {};
  }
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

/// The window of an image; pixels outside of the image are `fill`.
void cut_window(const Image& image, const PairWindow& window, uint8_t fill, Image& out) {
  const int64_t channels = image.channels;
  out.resize(image.channels, int(int64_t(window.y2) - window.y1 + 1), int(int64_t(window.x2) - window.x1 + 1));
  std::fill(out.pixels.begin(), out.pixels.end(), fill);
  const int64_t left = std::max(window.x1, 0), right = std::min<int64_t>(int64_t(window.x2) + 1, image.width);
  for (int64_t y = std::max(window.y1, 0); y <= window.y2 && y < image.height && left < right; ++y)
    std::copy_n(image.pixels.data() + (y * image.width + left) * channels, (right - left) * channels,
                out.pixels.data() + ((y - window.y1) * out.width + left - window.x1) * channels);
}

std::string size_text(const Image& image) { return std::to_string(image.height) + "x" + std::to_string(image.width); }

class PairReader : public SampleReader {
 public:
  PairReader(std::shared_ptr<const Pairs> pairs, ColorMode mode) : pairs_(std::move(pairs)), mode_(mode) {}

  Sample open(const Record& record, Label& label) override {
    const PairSourceOptions& options = pairs_->options;
    const PairSourcePair& pair = pairs_->pairs[size_t(record.number)];
    decode(pair.image, mode_, image_);
    if (options.has_labels) decode_labels(pair.labels);
    if (options.has_windows) cut_windows(pair.window);
    if (options.height > 0 && (image_.height != options.height || image_.width != options.width)) {
      resize_bilinear(image_, options.height, options.width, spare_);
      std::swap(image_, spare_);
    }
    if (options.has_labels) prepare_labels();
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

  void decode_labels(std::string_view name) {
    try {
      decode(name, ColorMode::kGray, labels_);
    } catch (const SampleError& error) {
      throw SampleError("its labels " + printable(name) + ": " + error.what(), error.hint());
    }
  }

  void cut_windows(const PairWindow& window) {
    if (pairs_->options.has_labels) {
      require_equal_sizes("use label images of the same size");
      cut_window(labels_, window, pairs_->options.fill_label, spare_);
      std::swap(labels_, spare_);
    }
    cut_window(image_, window, 0, spare_);
    std::swap(image_, spare_);
  }

  void prepare_labels() {
    const PairSourceOptions& options = pairs_->options;
    if (options.height > 0) {
      resize_nearest(labels_, image_.height, image_.width, spare_);
      std::swap(labels_, spare_);
    }
    require_equal_sizes("use equal sizes, or set new_height and new_width to resize both");
    if (!options.binary) return;
    for (uint8_t& value : labels_.pixels) value = value >= 128;
  }

  void require_equal_sizes(const std::string& hint) const {
    if (labels_.height != image_.height || labels_.width != image_.width)
      throw SampleError("the image is " + size_text(image_) + ", but its labels are " + size_text(labels_), hint);
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
