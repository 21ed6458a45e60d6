#include "data/sources/prepare_image.h"

#include <algorithm>

#include "core/error.h"
#include "core/files/file.h"
#include "data/lmdb/lmdb.h"
#include "data/sources/datum_reader.h"

namespace cortado::data {

void ImagePreparer::prepare(const std::string& path, int channels, int height, int width, float* out) {
  prepare_content(read_file(path, kMaxImageFileBytes), channels, height, width, out);
}

void ImagePreparer::prepare_content(std::string_view content, int channels, int height, int width, float* out) {
  const bool resizes = how_.sizes.any();
  Sample whole;
  if (resizes) {
    decoder_.decode(content, how_.transform.color, image_);
    bring_to_size(how_.sizes, image_, spare_);
    whole = image_.sample();
  } else {
    whole = decoder_.open(content, how_.transform.color);
  }
  const AugmentParams params = draw_params(how_.transform, whole.channels, whole.height, whole.width, 1, 0, 0);
  if (whole.channels != channels || params.out_height != height || params.out_width != width)
    throw SampleError("the image is " + whole.shape_str() + " and is converted to " +
                      Sample{whole.channels, params.out_height, params.out_width}.shape_str() + ", but the net takes " +
                      Sample{channels, height, width}.shape_str());
  if (resizes) return transform(whole, how_.transform, params, out);
  const SamplePart got = decoder_.read(source_window(params), [this](size_t bytes) {
    part_.resize(bytes);
    return part_.data();
  });
  transform(got.sample, how_.transform, resolve_params(params, got.sample, got.part), out);
}

std::optional<ImageSizes> size_of_images(const std::string& lmdb) try {
  constexpr int64_t kLooked = 32;
  const std::shared_ptr<const Lmdb> database = Lmdb::open(lmdb);
  LmdbCursor cursor(database);
  DatumReader reader;
  ImageSizes sizes;
  for (int64_t i = 0; i < std::min(database->records(), kLooked); ++i) {
    Label label;
    const Sample sample = reader.open(cursor.next(), label);
    if (i > 0 && (sample.height != sizes.height || sample.width != sizes.width)) return ImageSizes();
    sizes.height = sample.height;
    sizes.width = sample.width;
  }
  return sizes;
} catch (const Error&) {
  return {};
} catch (const SampleError&) {
  return {};
}

}  // namespace cortado::data
