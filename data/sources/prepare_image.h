#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/augment/transform.h"
#include "data/sources/image_source.h"

namespace cortado::data {

/// The conversion of an image file to the input of a net.
struct ImagePreparation {
  ImageSizes sizes;         ///< the first resizing, as of the dataset's images when it was converted
  TransformPlan transform;  ///< `color` is the colour mode of decoding
};

/// Converts image files to the floats that a data layer with this preparation produces, by the same steps as the
/// pipeline. Reuses its buffers.
class ImagePreparer {
 public:
  explicit ImagePreparer(ImagePreparation how) : how_(std::move(how)) {}
  const ImagePreparation& how() const { return how_; }

  /// Writes channels x height x width floats. Throws Error(kIo) if the file cannot be read, SampleError if it is not an
  /// image, or if the result has another shape.
  void prepare(const std::string& path, int channels, int height, int width, float* out);
  /// The same for the content of a file.
  void prepare_content(std::string_view content, int channels, int height, int width, float* out);

 private:
  ImagePreparation how_;
  ImageDecoder decoder_;
  Image image_, spare_;
  std::vector<uint8_t> part_;
};

/// The size of the first records of an LMDB: zeros if they differ. Nothing if the database does not exist.
std::optional<ImageSizes> size_of_images(const std::string& lmdb);

}  // namespace cortado::data
