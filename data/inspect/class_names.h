#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace cortado::data {

/// What a dataset's classes are called, or with `objects` those of its objects, by label. Empty: there are no names.
/// Throws Error where their file cannot be used.
std::map<int32_t, std::string> class_names_of(const std::string& dataset, bool objects);

/// "label 1 is 'bee' in a_lmdb and 'cat' in b_lmdb", of the first label that two datasets call differently; "": none,
/// as far as both have names of their own.
std::string names_conflict(const std::string& one, const std::string& other);

}  // namespace cortado::data
