#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/object.h"
#include "data/sample.h"

namespace cortado::data {

/// A parsed Datum: views of the serialized message, without copies. `raw` is set unless encoded.
struct DatumView {
  Sample raw;                ///< shape-checked: raw.count() elements exist
  std::string_view encoded;  ///< the image file in it, or empty
  std::string_view labels;   ///< MobileNet-YOLO's label image (seg_label): a file, or a byte for each pixel; or empty
  Label label = 0;
};

/// Parses a serialized caffe::Datum with bounded work and without allocations, except for `floats`, which receives
/// float_data and whose capacity is reused. Unknown fields are skipped. The label may be an int32 (Caffe), a float
/// (DeepDetect) or a double. Throws SampleError if it is not a Datum, has wrong sizes or several labels, or is empty.
DatumView parse_datum(std::string_view message, std::vector<float>& floats);

/// A serialized Datum of `channels` x `height` x `width` bytes (planar).
std::string make_datum(int channels, int height, int width, std::string_view bytes, int32_t label);
/// A serialized Datum with an image file.
std::string make_encoded_datum(std::string_view image_file, int32_t label);

/// Parses a serialized caffe::AnnotatedDatum: returns the bytes of its Datum, as a view, and its objects in order.
/// Reuses the memory of `objects`. Throws SampleError if it is not an AnnotatedDatum, has no Datum, or a box has a NaN.
std::string_view parse_annotated_datum(std::string_view message, std::vector<Object>& objects);

/// Whether a record's value is an AnnotatedDatum instead of a Datum.
bool is_annotated(std::string_view value);

/// The serialized Datum in a record's value: the value itself, or a part of an AnnotatedDatum.
std::string_view datum_in(std::string_view value);

/// Serializes an AnnotatedDatum around a serialized Datum.
std::string make_annotated_datum(std::string_view datum, const std::vector<Object>& objects);

}  // namespace cortado::data
