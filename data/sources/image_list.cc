#include "data/sources/image_list.h"

#include <charconv>

#include "core/file.h"
#include "core/file_error.h"
#include "data/formats/printable.h"

namespace cortado::data {

namespace {

constexpr int64_t kMaxBytes = int64_t(1) << 31;  // so that a line's number fits into 32 bits
constexpr size_t kMaxMistakes = 20;
const char* const kHint = "a line is a path, a space and a number";

}  // namespace

std::string parse_image_line(std::string_view line, ListedImage& image) {
  const size_t space = line.find_last_of(" \t");
  if (space == std::string_view::npos || space == 0) return std::string("no label: ") + kHint;
  const std::string_view label = line.substr(space + 1);
  const auto [end, error] = std::from_chars(label.data(), label.data() + label.size(), image.label);
  if (error != std::errc() || end != label.data() + label.size())
    return "the label '" + printable(label.substr(0, 40)) + "' is not a whole number";
  image.name = line.substr(0, space);
  return "";
}

void for_each_line(std::string_view text, const std::function<void(std::string_view line, int64_t number)>& body) {
  int64_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
    if (!line.empty()) body(line, number);
  }
}

ImageList::ImageList(const std::string& path) : path_(path), text_(read_file(path, kMaxBytes)) {
  if (text_.find('\0') != std::string::npos) throw file_error(ExitCode::kData, path, "this is not a text file", kHint);
  std::vector<Mistake> mistakes;
  int64_t untold = 0;
  for_each_line(text_, [&](std::string_view line, int64_t number) {
    ListedImage image;
    const std::string wrong = parse_image_line(line, image);
    if (wrong.empty()) {
      images_.push_back(image);
      lines_.push_back(int32_t(number));
    } else if (mistakes.size() < kMaxMistakes) {
      const size_t column = wrong.starts_with("no label") ? 0 : line.find_last_of(" \t") + 1;
      mistakes.push_back({{path, int(number), int(column) + 1, printable(line)}, wrong, kHint, {}});
    } else {
      ++untold;
    }
  });
  if (untold > 0)
    mistakes.push_back(
        file_mistake(path, std::to_string(untold) + (untold == 1 ? " more line is" : " more lines are") + " wrong"));
  if (!mistakes.empty()) throw Error(ExitCode::kData, std::move(mistakes));
  if (images_.empty()) throw file_error(ExitCode::kData, path, "no image is listed in it", kHint);
}

Place ImageList::place(size_t i) const {
  const char *begin = images_[i].name.data(), *end = text_.data() + text_.size();
  const std::string_view rest(begin, size_t(end - begin));
  return {path_, lines_[i], 1, printable(rest.substr(0, rest.find_first_of("\r\n")))};
}

}  // namespace cortado::data
