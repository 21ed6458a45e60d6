#include "data/sources/image_list.h"

#include <charconv>
#include <cmath>

#include "data/formats/text.h"

namespace cortado::data {

namespace {

const char* const kImageListHint = "a line is a path, a space and a number";

}  // namespace

std::string parse_image_line(std::string_view line, ListedImage& image) {
  const auto [name, label] = split_last_word(line);
  if (name.empty()) return std::string("no label: ") + kImageListHint;
  const auto [end, error] = std::from_chars(label.data(), label.data() + label.size(), image.label);
  if (error != std::errc() || end != label.data() + label.size())
    return "the label '" + printable(label.substr(0, 40)) + "' is not a whole number";
  image.name = name;
  return "";
}

ImageList::ImageList(const std::string& path, int label_numbers)
    : file_(path, "image", kImageListHint, [this, label_numbers](std::string_view line) -> LineFault {
        const std::string wrong = parse(line, label_numbers);
        return {wrong, wrong.starts_with("no label") ? 0 : line.find_last_of(" \t") + 1};
      }) {}

std::string ImageList::parse(std::string_view line, int label_numbers) {
  if (label_numbers > 1) return parse_row(line, label_numbers);
  ListedImage image;
  const std::string wrong = parse_image_line(line, image);
  if (wrong.empty()) images_.push_back(image);
  return wrong;
}

std::string ImageList::parse_row(std::string_view line, int label_numbers) {
  if (images_.size() == kMaxRows) return "lists with labels of several numbers have at most 16777216 images";
  const size_t row = rows_.size();
  rows_.resize(row + size_t(label_numbers));
  std::string wrong;
  for (int k = label_numbers - 1; k >= 0 && wrong.empty(); --k) {
    const auto [before, word] = split_last_word(line);
    float& number = rows_[row + size_t(k)];
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (before.empty())
      wrong =
          "no label of " + std::to_string(label_numbers) + " numbers: a line is a path and these, with spaces between";
    else if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(number))
      wrong = "'" + printable(word.substr(0, 40)) + "' is not a number of a label";
    line = before;
  }
  if (wrong.empty())
    images_.push_back({.name = line, .label = int32_t(images_.size())});
  else
    rows_.resize(row);
  return wrong;
}

}  // namespace cortado::data
