#include "data/sources/clip_source.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "core/error.h"
#include "data/formats/text.h"
#include "data/image/image_file_reader.h"
#include "data/sources/list_file.h"

namespace cortado::data {

namespace {

constexpr int kClipSourceColors = 3;

struct Clip {
  std::string_view folder;
  int32_t first = 0, label = 0;
};

bool parse_number(std::string_view text, int32_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

LineFault parse_clip(std::string_view line, Clip& clip) {
  const LastWord label = split_last_word(line), first = split_last_word(label.before);
  if (first.before.empty()) return {"a folder, a frame and a label are needed"};
  if (!parse_number(label.word, clip.label))
    return {"the label '" + printable(label.word.substr(0, 40)) + "' is not a whole number", label.before.size() + 1};
  if (!parse_number(first.word, clip.first) || clip.first < 0)
    return {"the first frame '" + printable(first.word.substr(0, 40)) + "' is not a whole number from 0 on",
            first.before.size() + 1};
  clip.folder = first.before;
  return {};
}

class Clips {
 public:
  explicit Clips(const ClipSourceOptions& given)
      : options(given),
        file(given.list, "clip", "use lines with a folder of frames, the number of the first frame and a label",
             [this](std::string_view line) {
               Clip clip;
               const LineFault fault = parse_clip(line, clip);
               if (fault.message.empty()) clips.push_back(clip);
               return fault;
             }) {}

  const ClipSourceOptions options;
  std::vector<Clip> clips;
  const ListFile file;
};

class ClipReader : public SampleReader {
 public:
  explicit ClipReader(std::shared_ptr<const Clips> clips) : clips_(std::move(clips)) {}

  Sample open(const Record& record, int32_t& label) override {
    const Clip& clip = clips_->clips[size_t(record.number)];
    label = clip.label;
    for (int i = 0; i < clips_->options.length; ++i) {
      read_frame(clip, int64_t(clip.first) + int64_t(i) * clips_->options.rate);
      if (i == 0) begin();
      keep_frame(i);
    }
    Sample sample = whole();
    sample.bytes = nullptr;
    return sample;
  }

  bool holds_floats() const override { return false; }
  bool decodes() const override { return true; }

  SamplePart read_part(const SourceWindow& window, bool, const PixelPlace& place) override {
    const size_t bytes =
        size_t(kClipSourceColors * clips_->options.length) * size_t(window.height) * size_t(window.width);
    return copy_part(whole(), {window.top, window.left, window.height, window.width}, place(bytes));
  }

 private:
  void read_frame(const Clip& clip, int64_t number) {
    const ClipSourceOptions& options = clips_->options;
    char name[32];
    std::snprintf(name, sizeof name, "/%06lld.jpg", static_cast<long long>(number));
    path_.assign(options.root).append(clip.folder).append(name);
    try {
      decoder_.decode(file_.read(path_), ColorMode::kColor, frame_);
    } catch (const SampleError& error) {
      throw SampleError("frame " + std::string(name + 1) + ": " + error.what(), error.hint());
    }
    if (options.height == 0 || (frame_.height == options.height && frame_.width == options.width)) return;
    resize_bilinear(frame_, options.height, options.width, spare_);
    std::swap(frame_, spare_);
  }

  void begin() {
    height_ = frame_.height, width_ = frame_.width;
    const int64_t bytes = int64_t(kClipSourceColors) * clips_->options.length * height_ * width_;
    if (bytes > kMaxPixels * kClipSourceColors)
      throw SampleError("the clip has " + std::to_string(clips_->options.length) + " frames of " +
                        std::to_string(height_) + "x" + std::to_string(width_) + ", which exceeds the maximum size");
    planes_.resize(size_t(bytes));
  }

  void keep_frame(int i) {
    if (frame_.height != height_ || frame_.width != width_)
      throw SampleError("its frames have different sizes", "set new_height and new_width to resize them");
    const size_t pixels = size_t(height_) * size_t(width_), length = size_t(clips_->options.length);
    for (size_t c = 0; c < kClipSourceColors; ++c) {
      uint8_t* to = planes_.data() + (c * length + size_t(i)) * pixels;
      for (size_t p = 0; p < pixels; ++p) to[p] = frame_.pixels[p * kClipSourceColors + c];
    }
  }

  Sample whole() const {
    return {kClipSourceColors * clips_->options.length, height_, width_, planes_.data(), nullptr, false};
  }

  std::shared_ptr<const Clips> clips_;
  std::string path_;
  ImageFileReader file_;
  ImageDecoder decoder_;
  Image frame_, spare_;
  int height_ = 0, width_ = 0;
  std::vector<uint8_t> planes_;
};

class ClipFinder : public RecordFinder {
 public:
  explicit ClipFinder(std::shared_ptr<const Clips> clips) : clips_(std::move(clips)) {}
  Record find(uint64_t number) override { return {clips_->clips[size_t(number)].folder, {}}; }

 private:
  std::shared_ptr<const Clips> clips_;
};

class ClipSource : public DataSource {
 public:
  explicit ClipSource(const ClipSourceOptions& options) : clips_(std::make_shared<const Clips>(options)) {}

  const std::string& path() const override { return clips_->file.path(); }
  int64_t records() const override { return int64_t(clips_->clips.size()); }
  int64_t bytes() const override { return 0; }
  std::unique_ptr<RecordFinder> finder(bool) const override { return std::make_unique<ClipFinder>(clips_); }
  std::unique_ptr<SampleReader> reader(ColorMode) const override { return std::make_unique<ClipReader>(clips_); }
  void visit_labels(int64_t most, const LabelVisit& visit) const override {
    for_each_evenly(records(), most, [&](uint64_t number) {
      const Clip& clip = clips_->clips[size_t(number)];
      visit({clip.folder, {}, number}, clip.label);
    });
  }
  void fail(const Record& record, const SampleError& error) const override {
    const size_t number = size_t(record.number);
    clips_->file.fail(number, clips_->clips[number].folder, error);
  }

 private:
  std::shared_ptr<const Clips> clips_;
};

}  // namespace

std::shared_ptr<const DataSource> clip_source(const ClipSourceOptions& options) {
  return std::make_shared<ClipSource>(options);
}

}  // namespace cortado::data
