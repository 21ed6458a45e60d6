#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/convert/convert_images.h"

namespace cortado::data {

/// The images of a folder with a folder for each class, those in subfolders of these too; or of a folder with train/
/// and val/ (valid/, validation/, test/), each of which has a folder for each class: two sets with one list of classes.
/// What is taken from where one may not look for it, and what is passed over, is noted in `folders`. Throws Error(kIo),
/// and Error(kData) where there is no class.
FoundImages find_in_class_folders(const std::string& root);

/// Labels as a table or an archive has them: whole numbers stay as they are; where one of them is none, all are names,
/// sorted and numbered from 0, and `names` receives them.
std::vector<int32_t> class_numbers(const std::vector<std::string>& labels, std::vector<std::string>& names);

}  // namespace cortado::data
