#include "data/sample.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <iomanip>
#include <sstream>

namespace cortado::data {

bool is_class(Label label) { return std::floor(label) == label && label >= INT32_MIN && label <= INT32_MAX; }

int32_t class_of(Label label) {
  if (!is_class(label))
    throw SampleError("its label is " + label_text(label) + ", which is not a class",
                      "a class is a whole number; other labels are for regression");
  return int32_t(label);
}

std::string label_text(Label label) {
  std::ostringstream text;
  text << std::setprecision(10) << label;
  return text.str();
}

std::string Sample::shape_str() const {
  return std::to_string(channels) + "x" + std::to_string(height) + "x" + std::to_string(width);
}

SamplePart copy_part(const Sample& whole, const SourcePart& part, uint8_t* to) {
  const size_t element = whole.floats != nullptr ? sizeof(float) : 1;
  const size_t pixel = whole.interleaved ? size_t(whole.channels) * element : element;
  const size_t row = size_t(whole.width) * pixel, part_row = size_t(part.width) * pixel;
  const uint8_t* from = whole.floats != nullptr ? reinterpret_cast<const uint8_t*>(whole.floats) : whole.bytes;
  const int planes = whole.interleaved ? 1 : whole.channels;
  uint8_t* at = to;
  for (int plane = 0; plane < planes; ++plane)
    for (int y = 0; y < part.height; ++y, at += part_row)
      std::memcpy(
          at, from + (size_t(plane) * size_t(whole.height) + size_t(part.top + y)) * row + size_t(part.left) * pixel,
          part_row);
  Sample copied = whole;
  copied.height = part.height;
  copied.width = part.width;
  if (whole.floats != nullptr)
    copied.floats = reinterpret_cast<const float*>(to);
  else
    copied.bytes = to;
  return {copied, part};
}

}  // namespace cortado::data
