#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/object.h"
#include "data/sample.h"

namespace cortado::data {

/// A parsed Datum: views of the serialized message, nothing copied. `raw` is set unless encoded.
struct DatumView {
  Sample raw;                ///< shape-checked: raw.count() elements are really there
  std::string_view encoded;  ///< the image file inside, or empty
  int32_t label = 0;
};

/// Parses a serialized caffe::Datum with bounded work and no allocation, apart from `floats`, which receives float_data
/// (its capacity is reused). Unknown fields are skipped. Throws SampleError: not a Datum, sizes that lie, nothing in
/// it.
DatumView parse_datum(std::string_view message, std::vector<float>& floats);

/// A serialized Datum of `channels` x `height` x `width` bytes (planar).
std::string make_datum(int channels, int height, int width, std::string_view bytes, int32_t label);
/// A serialized Datum that holds an image file.
std::string make_encoded_datum(std::string_view image_file, int32_t label);

/// Takes a serialized caffe::AnnotatedDatum apart: gives the bytes of its Datum, a view, and its objects in their
/// order. `objects` keeps its memory. Throws SampleError: not an AnnotatedDatum, no Datum, a box that is no number.
std::string_view parse_annotated_datum(std::string_view message, std::vector<Object>& objects);

/// Whether a record's value is an AnnotatedDatum, not a Datum.
bool is_annotated(std::string_view value);

/// The serialized Datum in a record's value: itself, or that of an AnnotatedDatum.
std::string_view datum_in(std::string_view value);

/// A serialized AnnotatedDatum of a serialized Datum.
std::string make_annotated_datum(std::string_view datum, const std::vector<Object>& objects);

}  // namespace cortado::data
