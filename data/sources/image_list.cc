#include "data/sources/image_list.h"

#include <charconv>

#include "data/formats/printable.h"

namespace cortado::data {

namespace {

const char* const kHint = "a line is a path, a space and a number";

}  // namespace

std::string parse_image_line(std::string_view line, ListedImage& image) {
  const auto [name, label] = split_last_word(line);
  if (name.empty()) return std::string("no label: ") + kHint;
  const auto [end, error] = std::from_chars(label.data(), label.data() + label.size(), image.label);
  if (error != std::errc() || end != label.data() + label.size())
    return "the label '" + printable(label.substr(0, 40)) + "' is not a whole number";
  image.name = name;
  return "";
}

ImageList::ImageList(const std::string& path)
    : file_(path, "image", kHint, [this](std::string_view line) -> LineFault {
        ListedImage image;
        const std::string wrong = parse_image_line(line, image);
        if (wrong.empty()) images_.push_back(image);
        return {wrong, wrong.starts_with("no label") ? 0 : line.find_last_of(" \t") + 1};
      }) {}

}  // namespace cortado::data
