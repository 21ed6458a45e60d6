#pragma once

#include <string>

#include "data/convert/convert_images.h"

namespace cortado::data {

/// The images of a folder with a folder for each class, those in subfolders of these too; or of a folder with train/
/// and val/ (valid/, validation/, test/), each of which has a folder for each class: two sets with one list of classes.
/// What is taken from where one may not look for it, and what is passed over, is noted in `folders`. Throws Error(kIo),
/// and Error(kData) where there is no class.
FoundImages find_in_class_folders(const std::string& root);

}  // namespace cortado::data
