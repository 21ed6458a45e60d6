#pragma once

// The images of window files (data/sources/object_file.h), for data layers that read them themselves.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/shape.h"
#include "data/image/image.h"
#include "data/image/image_file_reader.h"
#include "data/sources/object_file.h"
#include "layers/types/object_labels.h"
#include "layers/types/object_view.h"
#include "proto/cortado.pb.h"

namespace cortado {

/// From mean_value and scale: y = (x - mean) scale.
struct PixelScale {
  float means[3] = {0, 0, 0};
  float scale = 1;
};

/// Throws FieldError for another number of mean values than 0, 1 and 3.
PixelScale pixel_scale(const caffe::TransformationParameter& param);

constexpr uint32_t kObjectMostSide = 1 << 14;  ///< of images and templates
constexpr float kObjectMostScaling = 1024;

/// Throws FieldError unless least <= value <= most; returns the value.
uint32_t require_between(const std::string& field, uint32_t value, uint32_t least, uint32_t most);

using UintField = google::protobuf::RepeatedField<uint32_t>;

/// From the rates, the values of `rate_field`, and the values of field_w and field_h of the message `own`. Throws
/// FieldError.
std::vector<ObjectBranch> object_branches(const UintField& rates, const std::string& rate_field,
                                          const UintField& widths, const UintField& heights, const std::string& own);
/// Sets the number of positions for samples of that size. Throws FieldError.
void set_places(std::vector<ObjectBranch>& branches, const std::string& rate_field, int height, int width);

/// The sides below which objects are ignored.
struct LeastSides {
  float height, width;
};

/// Converts objects and regions to the coordinates of the sample, height x width. Ignores small objects, and those
/// whose centre lies outside.
void show_objects(const ObjectView& view, int height, int width, const LeastSides& least, SampleObjects& objects);

/// Writes the objects of image n in Cascade R-CNN's rows of 8: image, x1, y1, x2, y2, class, ignored, difficult.
/// Returns the end.
float* write_objects(const SampleObjects& objects, int64_t n, float* to);

class ObjectImages {
 public:
  explicit ObjectImages(std::string root_folder) : root_folder_(std::move(root_folder)) {}

  /// `difficult`: as in read_object_file(). Throws Error, also if a batch of `batch` images may have too many objects.
  void open(const std::string& source, bool difficult, int64_t batch);
  bool is_open() const { return file_.has_value(); }
  const data::ObjectFile& file() const { return *file_; }
  int64_t most_objects() const { return most_objects_; }  ///< the largest number in one image; at least 1
  /// Of rows of `numbers`, one for each object in a batch; -1 if the file is not open.
  Shape rows_shape(int64_t batch, int64_t numbers) const {
    return is_open() ? Shape{batch * most_objects_, numbers, 1, 1} : Shape{-1};
  }

  const data::Image& image() const { return image_; }
  data::Image& image() { return image_; }
  void read(const data::ObjectImage& listed);
  void mirror();
  void resize(int height, int width);
  /// The objects and regions of the listed image in the coordinates of image(), given its size and mirroring before
  /// resize().
  void place(const data::ObjectImage& listed, int read_height, int read_width, bool mirrored, SampleObjects& to) const;
  /// Writes the pixels of the view into 3 x height x width zeros. Changes image().
  void cut(const ObjectView& view, const PixelScale& pixels, int64_t height, int64_t width, float* to);
  [[noreturn]] void fail(const data::ObjectImage& listed, const std::string& what, const std::string& hint) const;

 private:
  std::string root_folder_, path_;
  std::optional<data::ObjectFile> file_;
  int64_t most_objects_ = 1;
  data::ImageFileReader reader_;
  data::ImageDecoder decoder_;
  data::Image image_, other_;
};

}  // namespace cortado
