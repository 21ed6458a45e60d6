#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/sources/prepare_image.h"
#include "studio/look/trained_net.h"

namespace cortado::studio {

/// What a net sees in images: classes, or the objects of a detector; nothing if its output is something else.
class Answers {
 public:
  /// Reads the class names and how images are prepared. Throws Error.
  Answers(TrainedNet& net, const tools::Arguments& arguments);

  /// Runs the image through the net. {"size": [width, height], "classes": [{"label", "name", "probability"}]} or, of a
  /// detector, "objects": [{"label", "name", "score", "box"}], the best first. {"error"} for a file that is not an
  /// image.
  Json of(const std::string& path);

 private:
  Json classes() const;
  Json objects() const;
  std::string name_of(int label) const;

  TrainedNet& net_;
  Shape shape_;
  size_t top_;
  std::map<int, std::string> names_;
  std::optional<data::ImagePreparer> preparer_;
  data::ImageDecoder decoder_;
  data::Image image_;
};

}  // namespace cortado::studio
