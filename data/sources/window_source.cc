#include "data/sources/window_source.h"

#include <limits>
#include <mutex>

#include "core/error.h"
#include "core/rng.h"
#include "data/formats/text.h"
#include "data/image/image_file_reader.h"

namespace cortado::data {

namespace {

constexpr uint64_t kWindowKey = 0x57494E444F57ull;  // separates these draws from others with the same seed

/// Cache of image files, if it is enabled.
class KeptFiles {
 public:
  explicit KeptFiles(size_t n) : once_(n), contents_(n) {}
  std::string_view get(size_t i, const std::string& path, ImageFileReader& reader) const {
    std::call_once(once_[i], [&] { contents_[i] = reader.read(path); });
    return contents_[i];
  }

 private:
  mutable std::vector<std::once_flag> once_;
  mutable std::vector<std::string> contents_;
};

/// The draw for one record.
struct Drawn {
  const Window* window;
  bool mirror;
};

void check_channels(const WarpValues& values, int channels) {
  if (values.mean_values.size() > 1 && int(values.mean_values.size()) != channels)
    throw FieldError("transform_param.mean_value",
                     std::to_string(values.mean_values.size()) + " mean values for images of " +
                         std::to_string(channels) + " channels",
                     "set one, or one for each channel");
  if (values.mean && values.mean->channels != channels)
    throw FieldError("transform_param.mean_file", "the mean has " + std::to_string(values.mean->channels) +
                                                      " channels, but images have " + std::to_string(channels));
}

class Windows {
 public:
  explicit Windows(const WindowSourceOptions& given)
      : options(given),
        file(read_window_file(given.list, given.fg_threshold, given.bg_threshold)),
        kept(given.keep_files ? file.images.size() : 0) {
    check_channels(options.values, file.channels);
    if (options.foreground > 0 && file.foreground.empty())
      fail_without("foreground", "overlaps an object by fg_threshold or more", "fg_fraction: 0");
    if (options.foreground < options.batch_size && file.background.empty())
      fail_without("background", "overlaps objects by less than bg_threshold", "fg_fraction: 1");
  }

  Drawn draw(uint64_t number) const {
    const int place = int(number % uint64_t(options.batch_size));
    const bool foreground = place >= options.batch_size - options.foreground;
    const std::vector<Window>& windows = foreground ? file.foreground : file.background;
    const Philox::Words words = Philox(mix_key(options.seed, kWindowKey))(0, number);
    return {&windows[size_t(uint64_t(words.v[0]) * windows.size() >> 32)], options.mirror && words.v[1] >> 31 != 0};
  }

  const WindowSourceOptions options;
  const WindowFile file;
  const KeptFiles kept;

 private:
  [[noreturn]] void fail_without(const std::string& kind, const std::string& meaning,
                                 const std::string& way_out) const {
    throw file_error(ExitCode::kData, file.path, "it has no " + kind + " windows: none " + meaning,
                     "a batch needs both; set " + way_out + " to use none of these");
  }
};

class WindowReader : public SampleReader {
 public:
  explicit WindowReader(std::shared_ptr<const Windows> windows) : windows_(std::move(windows)) {}

  Sample open(const Record& record, Label& label) override {
    drawn_ = windows_->draw(record.number);
    const Window& window = *drawn_.window;
    label = window.label;
    path_.assign(windows_->options.root).append(windows_->file.images[window.image].path);
    const std::string_view content =
        windows_->options.keep_files ? windows_->kept.get(window.image, path_, file_) : file_.read(path_);
    const int channels = windows_->file.channels, crop = windows_->options.warp.crop;
    const Sample image = decoder_.open(content, channels == 1 ? ColorMode::kGray : ColorMode::kColor);
    place_ = place_window(window, windows_->options.warp, drawn_.mirror, image.height, image.width);
    return {channels, crop, crop, nullptr, nullptr, false};
  }

  bool holds_floats() const override { return true; }
  bool decodes() const override { return true; }

  SamplePart read_part(const SourceWindow&, bool, const PixelPlace& place) override {
    const SourcePart& part = place_.part;
    const SamplePart decoded =
        decoder_.read({part.top, part.left, part.height, part.width, part.height, part.width}, [this](size_t bytes) {
          decoded_.resize(bytes);
          return decoded_.data();
        });
    const int channels = decoded.sample.channels, crop = windows_->options.warp.crop;
    cut_.resize(channels, part.height, part.width);
    copy_part(decoded.sample, {part.top - decoded.part.top, part.left - decoded.part.left, part.height, part.width},
              cut_.pixels.data());
    auto* out = reinterpret_cast<float*>(place(size_t(channels) * size_t(crop) * size_t(crop) * sizeof(float)));
    warp_window(cut_, place_, windows_->options.warp, drawn_.mirror, windows_->options.values, warped_, out);
    return {{channels, crop, crop, nullptr, out, false}, {0, 0, crop, crop}};
  }

 private:
  std::shared_ptr<const Windows> windows_;
  std::string path_;
  ImageFileReader file_;
  ImageDecoder decoder_;
  Drawn drawn_{};
  WarpPlace place_{};
  std::vector<uint8_t> decoded_;
  Image cut_, warped_;
};

class WindowFinder : public RecordFinder {
 public:
  Record find(uint64_t) override { return {}; }
};

class WindowSource : public DataSource {
 public:
  explicit WindowSource(const WindowSourceOptions& options) : windows_(std::make_shared<const Windows>(options)) {}

  const std::string& path() const override { return windows_->file.path; }
  int64_t records() const override { return kEndless; }
  int64_t bytes() const override { return 0; }
  std::unique_ptr<RecordFinder> finder(bool) const override { return std::make_unique<WindowFinder>(); }
  std::unique_ptr<SampleReader> reader(ColorMode) const override { return std::make_unique<WindowReader>(windows_); }
  void fail(const Record& record, const SampleError& error) const override {
    const WindowImage& image = windows_->file.images[windows_->draw(record.number).window->image];
    Diagnostic mistake;
    mistake.place = {windows_->file.path, image.line, 1, printable(image.path)};
    mistake.message = printable(image.path) + ": " + error.what();
    mistake.hint = error.hint();
    throw Error(ExitCode::kData, std::move(mistake));
  }

 private:
  std::shared_ptr<const Windows> windows_;
};

}  // namespace

std::shared_ptr<const DataSource> window_source(const WindowSourceOptions& options) {
  return std::make_shared<WindowSource>(options);
}

}  // namespace cortado::data
