#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/augment/transform.h"
#include "data/sources/image_source.h"

namespace cortado::data {

/// How an image file becomes what a data layer makes of it.
struct ImagePreparation {
  ImageSizes sizes;         ///< what it is brought to first, like the images of a dataset when it was made
  TransformPlan transform;  ///< `color` says what it is decoded to
};

/// Makes the floats that a data layer with this preparation makes of image files, by the same steps as the pipeline.
/// Keeps its buffers.
class ImagePreparer {
 public:
  explicit ImagePreparer(ImagePreparation how) : how_(std::move(how)) {}
  const ImagePreparation& how() const { return how_; }

  /// Writes channels x height x width floats. Throws Error(kIo) where the file cannot be read, SampleError where it is
  /// no image, or comes out with another shape.
  void prepare(const std::string& path, int channels, int height, int width, float* out);
  /// The same of a file's content.
  void prepare_content(std::string_view content, int channels, int height, int width, float* out);

 private:
  ImagePreparation how_;
  ImageDecoder decoder_;
  Image image_, spare_;
  std::vector<uint8_t> part_;
};

/// The size that the first records of an LMDB have: zeros where they differ. Nothing where there is no such database.
std::optional<ImageSizes> size_of_images(const std::string& lmdb);

}  // namespace cortado::data
