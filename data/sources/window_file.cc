#include "data/sources/window_file.h"

#include <algorithm>
#include <charconv>

#include "core/file.h"
#include "core/file_error.h"
#include "data/formats/printable.h"

namespace cortado::data {

namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v'; }

/// Words of a text, with their places.
class Words {
 public:
  Words(const std::string& path, std::string_view text) : path_(path), rest_(text), line_(text) {}

  bool at_end() {
    skip_space();
    return rest_.empty();
  }

  std::string_view next(const char* what) {
    if (at_end()) fail({}, std::string("the file ends where ") + what + " is wanted");
    size_t length = 0;
    while (length < rest_.size() && !is_space(rest_[length])) ++length;
    return take(length);
  }

  template <typename T>
  T number(const char* what, T least) {
    const std::string_view word = next(what);
    T value{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size())
      fail(word, "'" + printable(word.substr(0, 40)) + "' where " + what + " is wanted");
    if (!(value >= least)) fail(word, std::string(what) + " is " + printable(word.substr(0, 40)));
    return value;
  }

  /// A word, or the whole line if more than numbers follow: a path may hold spaces.
  std::string_view path(const char* what) {
    const std::string_view word = next(what);
    const std::string_view line = rest_.substr(0, rest_.find('\n'));
    const size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return word;
    const std::string_view follows = line.substr(begin, line.find_first_of(" \t\r", begin) - begin);
    if (std::all_of(follows.begin(), follows.end(), [](char c) { return c >= '0' && c <= '9'; })) return word;
    const size_t last = line.find_last_not_of(" \t\r");
    take(last + 1);
    return {word.data(), size_t(line.data() + last + 1 - word.data())};
  }

  int line() const { return number_; }

  [[noreturn]] void fail(std::string_view word, const std::string& what) const {
    const int column = word.empty() ? 0 : int(word.data() - line_.data()) + 1;
    const std::string text = printable(line_.substr(0, line_.find_first_of("\r\n")));
    throw Error(ExitCode::kData,
                Mistake{{path_, number_, column, text},
                        what,
                        "an image has the lines '# INDEX', path, channels, height, width and number of windows; a "
                        "window has 'CLASS OVERLAP X1 Y1 X2 Y2'",
                        {}});
  }

 private:
  std::string_view take(size_t length) {
    const std::string_view taken = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return taken;
  }

  void skip_space() {
    while (!rest_.empty() && is_space(rest_.front())) {
      const bool ends_line = rest_.front() == '\n';
      rest_.remove_prefix(1);
      if (!ends_line) continue;
      ++number_;
      line_ = rest_;
    }
  }

  const std::string& path_;
  std::string_view rest_, line_;
  int number_ = 1;
};

class Parser {
 public:
  Parser(Words& words, float fg_threshold, float bg_threshold, WindowFile& file)
      : words_(words), fg_(fg_threshold), bg_(bg_threshold), file_(file) {}

  void image() {
    if (const std::string_view mark = words_.next("'#'"); mark != "#")
      words_.fail(mark, "'" + printable(mark.substr(0, 40)) + "' where '#' is wanted, which begins an image");
    words_.number<int64_t>("the image's index", 0);
    const std::string_view path = words_.path("the image's path");
    file_.images.push_back({std::string(path), words_.line()});
    const int channels = words_.number<int>("the number of channels", 1);
    if (file_.channels == 0) file_.channels = channels;
    if (channels != file_.channels || (channels != 1 && channels != 3))
      words_.fail(path, std::to_string(channels) + " channels: images have 1 or 3, and all as many");
    words_.number<int>("the height", 1);
    words_.number<int>("the width", 1);
    const int windows = words_.number<int>("the number of windows", 0);
    for (int i = 0; i < windows; ++i) window();
  }

 private:
  void window() {
    Window window;
    window.image = uint32_t(file_.images.size() - 1);
    window.label = words_.number<int32_t>("a window's class", 0);
    const float overlap = words_.number<float>("a window's overlap", 0);
    window.x1 = words_.number<int32_t>("x1", -kFarthest);
    window.y1 = words_.number<int32_t>("y1", -kFarthest);
    window.x2 = words_.number<int32_t>("x2", window.x1);
    window.y2 = words_.number<int32_t>("y2", window.y1);
    if (std::max(window.x2, window.y2) > kFarthest) words_.fail({}, "the window is larger than images may be");
    if (overlap >= fg_) {
      if (window.label == 0) words_.fail({}, "a foreground window has class 0, which is the background's");
      file_.foreground.push_back(window);
    } else if (overlap < bg_) {
      window.label = 0;
      file_.background.push_back(window);
    }
  }

  static constexpr int32_t kFarthest = 1 << 24;
  Words& words_;
  float fg_, bg_;
  WindowFile& file_;
};

}  // namespace

WindowFile read_window_file(const std::string& path, float fg_threshold, float bg_threshold) {
  const std::string text = read_file(path, int64_t(1) << 33);
  if (text.find('\0') != std::string::npos) throw file_error(ExitCode::kData, path, "this is not a text file");
  WindowFile file;
  file.path = path;
  Words words(path, text);
  Parser parser(words, fg_threshold, bg_threshold, file);
  while (!words.at_end()) parser.image();
  if (file.images.empty()) words.fail({}, "no image is listed in it");
  return file;
}

}  // namespace cortado::data
