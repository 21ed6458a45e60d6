#include "data/sources/window_file.h"

#include <algorithm>

#include "core/error.h"
#include "core/files/file.h"
#include "data/sources/token_reader.h"

namespace cortado::data {

namespace {

const std::string kWindowFileHint =
    "an image has the lines '# INDEX', path, channels, height, width and number of windows; a window has 'CLASS "
    "OVERLAP X1 Y1 X2 Y2'";

class Parser {
 public:
  Parser(TokenReader& words, float fg_threshold, float bg_threshold, WindowFile& file)
      : words_(words), fg_(fg_threshold), bg_(bg_threshold), file_(file) {}

  void image() {
    words_.begin_image();
    const std::string_view path = words_.path("the image's path");
    file_.images.push_back({std::string(path), words_.line()});
    const int channels = words_.number<int>("the number of channels", 1);
    if (file_.channels == 0) file_.channels = channels;
    if (channels != file_.channels || (channels != 1 && channels != 3))
      words_.fail(path, std::to_string(channels) + " channels, but images must have 1 or 3, all the same");
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
    if (std::max(window.x2, window.y2) > kFarthest) words_.fail({}, "the window is beyond the maximum image size");
    if (overlap >= fg_) {
      if (window.label == 0) words_.fail({}, "a foreground window has class 0, which is the background's");
      file_.foreground.push_back(window);
    } else if (overlap < bg_) {
      window.label = 0;
      file_.background.push_back(window);
    }
  }

  static constexpr int32_t kFarthest = 1 << 24;
  TokenReader& words_;
  float fg_, bg_;
  WindowFile& file_;
};

}  // namespace

WindowFile read_window_file(const std::string& path, float fg_threshold, float bg_threshold) {
  const std::string text = read_file(path, int64_t(1) << 33);
  if (text.find('\0') != std::string::npos) throw file_error(ExitCode::kData, path, "this is not a text file");
  WindowFile file;
  file.path = path;
  TokenReader words(path, text, kWindowFileHint);
  Parser parser(words, fg_threshold, bg_threshold, file);
  while (!words.at_end()) parser.image();
  if (file.images.empty()) words.fail({}, "the file lists no image");
  return file;
}

}  // namespace cortado::data
