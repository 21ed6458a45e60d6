#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

namespace cortado::data {

/// What is wrong with one sample, thrown by code that does not know where the sample came from. The pipeline or a
/// converter adds the dataset and the key, and makes it an Error(kData) or a line of a report.
class SampleError : public std::runtime_error {
 public:
  explicit SampleError(const std::string& what, std::string hint = {})
      : std::runtime_error(what), hint_(std::move(hint)) {}
  const std::string& hint() const { return hint_; }

 private:
  std::string hint_;
};

/// The colours that an image is decoded to.
enum class ColorMode { kAsStored, kColor, kGray };

/// Memory for decoded elements, asked for when their number is known; aligned to 4 bytes at least.
using PixelPlace = std::function<uint8_t*(size_t bytes)>;

/// A rectangle of the source and the size that it is resized to: a decoder may skip what lies outside of it and finer
/// detail than that. Equal sizes mean that nothing is resized.
struct SourceWindow {
  int top, left, height, width;
  int out_height, out_width;
};

/// A rectangle of the source.
struct SourcePart {
  int top, left, height, width;
};

/// One decoded sample: a view of memory that it does not own. Colour is blue, green, red. Elements are bytes or
/// floats (exactly one pointer is set), planar (channels x height x width) or, when `interleaved`, height x width x
/// channels.
struct Sample {
  int channels = 0, height = 0, width = 0;
  const uint8_t* bytes = nullptr;
  const float* floats = nullptr;
  bool interleaved = false;

  int64_t count() const { return int64_t(channels) * height * width; }
  std::string shape_str() const;  ///< "3x256x256"
};

/// A sample that holds a part of its source.
struct SamplePart {
  Sample sample;
  SourcePart part;  ///< of the source in full size; the sample may hold it at a smaller scale
};

/// The part's elements, copied to `to`; the sample is whole and the part lies in it.
SamplePart copy_part(const Sample& whole, const SourcePart& part, uint8_t* to);

}  // namespace cortado::data
