#include "data/sources/clip_source.h"

#include <algorithm>
#include <charconv>

#include "core/error.h"
#include "core/rng.h"
#include "data/formats/text.h"
#include "data/image/image_file_reader.h"
#include "data/sources/frame_name.h"
#include "data/sources/list_file.h"
#include "data/video/video_reader.h"

namespace cortado::data {

namespace {

constexpr uint64_t kClipKey = 0x434C4950ull;  // separates these draws from others with the same seed
constexpr int64_t kMaxClipBytes = kMaxPixels * 3;

struct Clip {
  std::string_view folder;
  int32_t first = 0, label = 0;  ///< `first` is the number of frames if there are segments
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
        file(given.list, "clip",
             given.segments > 0 ? "use lines with a folder of frames, the number of frames and a label"
             : given.video      ? "use lines with a video file, the number of the first frame and a label"
                                : "use lines with a folder of frames, the number of the first frame and a label",
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

  Sample open(const Record& record, Label& label) override {
    const Clip& clip = clips_->clips[size_t(record.number)];
    label = clip.label;
    path_.assign(options().root).append(clip.folder);
    int image = 0;
    if (options().video)
      read_video(clip, record.place);
    else
      for (const int64_t number : numbers(clip, record.place))
        for (const char axis : {'x', 'y'}) {
          read_file(number, axis);
          keep(image++);
          if (!options().flow) break;
        }
    Sample sample = whole();
    sample.bytes = nullptr;
    return sample;
  }

  bool holds_floats() const override { return false; }
  bool decodes() const override { return true; }

  SamplePart read_part(const SourceWindow& window, bool, const PixelPlace& place) override {
    const size_t bytes = size_t(options().channels()) * size_t(window.height) * size_t(window.width);
    return copy_part(whole(), {window.top, window.left, window.height, window.width}, place(bytes));
  }

 private:
  const ClipSourceOptions& options() const { return clips_->options; }

  /// A draw from 0 to count - 1.
  int64_t draw(uint64_t place, int which, int64_t count) const {
    const uint64_t word = Philox(mix_key(options().seed, kClipKey))(place, uint64_t(which)).v[0];
    return int64_t(word * uint64_t(count) >> 32);
  }

  /// The numbers of the frames, from 1 on for segments, in order.
  std::vector<int64_t> numbers(const Clip& clip, uint64_t place) const {
    std::vector<int64_t> made;
    const int64_t length = options().length, segment = clip.first / std::max(1, options().segments);
    for (int s = 0; s < std::max(1, options().segments); ++s) {
      int64_t first = clip.first;
      if (options().segments > 0) {
        const int64_t places = segment - length + 1;
        first = places < 1 ? 1 : 1 + s * segment + (options().random ? draw(place, s, places) : places / 2);
      }
      for (int64_t i = 0; i < length; ++i) made.push_back(first + i * options().rate);
    }
    return made;
  }

  void read_file(int64_t number, char axis) {
    const std::string name = frame_name(options().pattern, number, axis);
    try {
      decoder_.decode(file_.read(path_ + '/' + name), options().flow ? ColorMode::kGray : ColorMode::kColor, frame_);
    } catch (const SampleError& error) {
      throw SampleError("frame " + name + ": " + error.what(), error.hint());
    }
  }

  /// Keeps the file open, because lists often have several clips of a video in a row.
  void read_video(const Clip& clip, uint64_t place) {
    try {
      if (opened_ != path_) video_.open(path_);
      opened_ = path_;
      int64_t first = clip.first;
      if (options().jitter) {
        const int64_t needed = int64_t(options().length - 1) * options().rate + 1;
        if (video_.frames() < needed)
          throw SampleError("the video has " + std::to_string(video_.frames()) + " frames, but a clip needs " +
                            std::to_string(needed));
        first = draw(place, 0, std::min(video_.frames() - needed + 1, int64_t(UINT32_MAX)));
      }
      for (int i = 0; i < options().length; ++i) {
        video_.read(first + int64_t(i) * options().rate, frame_);
        keep(i);
      }
    } catch (...) {
      video_.close();
      opened_.clear();
      throw;
    }
  }

  void keep(int i) {
    if (options().height > 0 && (frame_.height != options().height || frame_.width != options().width)) {
      resize_bilinear(frame_, options().height, options().width, spare_);
      std::swap(frame_, spare_);
    }
    if (i == 0) begin();
    keep_frame(size_t(i));
  }

  void begin() {
    height_ = frame_.height, width_ = frame_.width;
    const int64_t bytes = int64_t(options().channels()) * height_ * width_;
    if (bytes > kMaxClipBytes)
      throw SampleError("the clip has " + std::to_string(options().images()) + " frames of " + std::to_string(height_) +
                        "x" + std::to_string(width_) + ", which exceeds the maximum size");
    planes_.resize(size_t(bytes));
  }

  void keep_frame(size_t i) {
    if (frame_.height != height_ || frame_.width != width_)
      throw SampleError("its frames have different sizes", "set new_height and new_width to resize them");
    const size_t pixels = size_t(height_) * size_t(width_), images = size_t(options().images()),
                 colors = size_t(options().colors());
    for (size_t c = 0; c < colors; ++c) {
      uint8_t* to = planes_.data() + (options().segments > 0 ? i * colors + c : c * images + i) * pixels;
      for (size_t p = 0; p < pixels; ++p) to[p] = frame_.pixels[p * colors + c];
    }
  }

  Sample whole() const { return {options().channels(), height_, width_, planes_.data(), nullptr, false}; }

  std::shared_ptr<const Clips> clips_;
  std::string path_, opened_;
  ImageFileReader file_;
  ImageDecoder decoder_;
  VideoReader video_;
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
