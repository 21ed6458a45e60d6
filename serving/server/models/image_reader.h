#pragma once

// From an image file to a net's input, and from its output to words, for nets that take images.

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/box.h"
#include "data/sources/prepare_image.h"
#include "net/predictor.h"
#include "tools/options/flags.h"

namespace cortado::server {

/// One thing that is seen: the whole image's class, or an object in it.
struct Seen {
  int label;
  std::string name;  ///< "": it has none
  double score;
  Box box;  ///< of an object, in parts of the image
};

class ImageReader {
 public:
  /// For the net that `arguments` name. Null where its input is no image or its output neither scores nor objects;
  /// throws Error for flags and files that do not fit.
  static std::unique_ptr<ImageReader> make(const tools::Arguments& arguments, const NetFile& file,
                                           const Predictor& predictor);

  const std::string& input() const { return input_; }
  const std::string& output() const { return output_; }
  bool finds_objects() const { return finds_objects_; }

  /// One row of the input. Throws RequestError for what is no JPEG, PNG, PGM or PPM file. By one thread at a time.
  Array prepare(std::string_view content);

  /// What one row of the output tells, at most `top` classes, or the objects that are sure enough.
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
