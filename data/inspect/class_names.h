#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "data/sample.h"

namespace cortado::data {

/// What a dataset's classes are called, or with `objects` those of its objects, by label. Empty: there are no names.
/// Throws Error where their file cannot be used.
std::map<int32_t, std::string> class_names_of(const std::string& dataset, bool objects);

/// "label 1 is 'bee' in a_lmdb and 'cat' in b_lmdb", of the first label that two datasets call differently; "": none,
/// as far as both have names of their own.
std::string names_conflict(const std::string& one, const std::string& other);

// What of an image tells whether it is another's double, or hardly an image at all.

/// 64 bits of the extents and all elements: images of equal pixels have equal digests, others all but surely not. The
/// order of elements counts, so planar and interleaved samples are told apart.
uint64_t pixel_digest(const Sample& sample);

/// Whether nearly all of an image of bytes is black: its 99.9th percentile is below 16 of 255.
bool is_near_black(const Sample& sample);

}  // namespace cortado::data
