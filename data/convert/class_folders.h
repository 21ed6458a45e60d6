#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/convert/convert_images.h"

namespace cortado::data {

/// Finds the images of a folder with one folder per class, including those in subfolders of these. If the folder has
/// train/ and val/ (valid/, validation/, test/), each with a folder per class, the result is two sets with one list of
/// classes. Unexpected places of images and skipped files are reported in `folders`. Throws Error(kIo), and
/// Error(kData) without any class.
FoundImages find_in_class_folders(const std::string& root);

/// Numbers the labels of a table or an archive. Integers keep their values. If one label is not an integer, all of them
/// are names; they are sorted and numbered from 0, and `names` receives them.
std::vector<int32_t> class_numbers(const std::vector<std::string>& labels, std::vector<std::string>& names);

}  // namespace cortado::data
