#pragma once

// Converts an image file to a net's input, and its output to classes or objects.

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/box.h"
#include "data/sources/prepare_image.h"
#include "net/predictor.h"
#include "tools/options/inference_net.h"

namespace cortado::server {

/// A result: a class of the image, or an object in it.
struct Seen {
  int label;
  std::string name;  ///< the label without names
  double score;
  Box box;  ///< of an object, relative to the image size
};

class ImageReader {
 public:
  /// For the net that `arguments` name. Null if its input is not an image or its output is neither scores nor objects.
  /// Throws Error for flags and files that do not match.
  static std::unique_ptr<ImageReader> make(const tools::Arguments& arguments, const tools::InferenceNet& net,
                                           const Predictor& predictor);

  const std::string& input() const { return input_; }
  const std::string& output() const { return output_; }
  bool finds_objects() const { return finds_objects_; }

  /// Makes one row of the input. Throws RequestError if it is not an image that is served. Not thread-safe.
  Array prepare(std::string_view content);

  /// Decodes one row of the output: the best classes, at most `top`, or the objects above the score threshold.
  std::vector<Seen> seen(const Array& output) const;

 private:
  ImageReader(data::ImagePreparation how) : preparer_(std::move(how)) {}

  data::ImagePreparer preparer_;
  std::string input_, output_;
  Shape shape_;
  bool finds_objects_ = false;
  size_t top_ = 0;
  float threshold_ = 0;
  std::map<int, std::string> names_;
};

}  // namespace cortado::server
