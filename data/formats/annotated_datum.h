#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/object.h"

namespace cortado::data {

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
