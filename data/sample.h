#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

namespace cortado::data {

/// An error of one sample, thrown by code that does not know the sample's origin. The pipeline or a converter adds the
/// dataset and the key and converts it to an Error(kData) or a line of a report.
class SampleError : public std::runtime_error {
 public:
  explicit SampleError(const std::string& what, std::string hint = {})
      : std::runtime_error(what), hint_(std::move(hint)) {}
  const std::string& hint() const { return hint_; }

 private:
  std::string hint_;
};

/// The label of a record: a class, or another number, for example for regression. Represents each int32_t and each
/// float.
using Label = double;
bool is_class(Label label);  ///< whether it is a whole number
/// The class that a label is. Throws SampleError if it is not a whole number.
int32_t class_of(Label label);
/// "3", or "2.5".
std::string label_text(Label label);

/// The colours to which an image is decoded.
enum class ColorMode { kAsStored, kColor, kGray };

/// Allocates memory for decoded elements when their number is known; aligned to at least 4 bytes.
using PixelPlace = std::function<uint8_t*(size_t bytes)>;

/// A rectangle of the source and the size to which it is resized. A decoder may skip everything outside and all finer
/// detail. Equal sizes mean no resizing.
struct SourceWindow {
  int top, left, height, width;
  int out_height, out_width;
};

/// A rectangle of the source.
struct SourcePart {
  int top, left, height, width;
};

/// One decoded sample: a view of memory that it does not own. Colours are blue, green, red. Elements are bytes or
/// floats (exactly one pointer is set), planar (channels x height x width) or, if `interleaved`, height x width x
/// channels.
struct Sample {
  int channels = 0, height = 0, width = 0;
  const uint8_t* bytes = nullptr;
  const float* floats = nullptr;
  bool interleaved = false;

  int64_t count() const { return int64_t(channels) * height * width; }
  std::string shape_str() const;  ///< "3x256x256"
};

/// A sample that contains a part of its source.
struct SamplePart {
  Sample sample;
  SourcePart part;  ///< in coordinates of the full-size source; the sample may have a smaller scale
};

/// Copies the part's elements to `to`; the sample must be whole and contain the part.
SamplePart copy_part(const Sample& whole, const SourcePart& part, uint8_t* to);

}  // namespace cortado::data
