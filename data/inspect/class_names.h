#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "data/sample.h"

namespace cortado::data {

/// The names of a dataset's classes by label, or with `objects` those of its objects' classes; empty if it has none.
/// Throws Error if the file of names is invalid.
std::map<int32_t, std::string> class_names_of(const std::string& dataset, bool objects);

/// The first label that has different names in two datasets, as "label 1 is 'bee' in a_lmdb and 'cat' in b_lmdb". "" if
/// there is none, or if one of them has no names of its own.
std::string names_conflict(const std::string& one, const std::string& other);

// Properties of images for finding duplicates and black images.

/// A 64-bit digest of the dimensions and all elements. Images with different pixels have different digests, except with
/// negligible probability. The digest depends on the order of elements, so it differs for planar and interleaved
/// samples.
uint64_t pixel_digest(const Sample& sample);

/// Whether nearly all of a byte image is black: its 99.9th percentile is below 16 of 255.
bool is_near_black(const Sample& sample);

}  // namespace cortado::data
