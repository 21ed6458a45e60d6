#include <algorithm>
#include <filesystem>

#include "core/file.h"
#include "core/file_error.h"
#include "data/convert/convert_images.h"

namespace cortado::data {

namespace {

/// Names of the folders (or of the files) in `folder`, sorted by bytes. Counts those that are no samples in `skipped`.
/// Throws Error(kIo).
std::vector<std::string> sorted_names(const std::string& folder, bool folders, int64_t& skipped) {
  std::vector<std::string> names;
  try {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string name = entry.path().filename();
      std::error_code ignored;
      if (is_no_sample(name))
        ++skipped;
      else if (entry.is_directory(ignored) == folders)
        names.push_back(name);
    }
  } catch (const std::filesystem::filesystem_error& error) {
    throw file_error(ExitCode::kIo, folder, "cannot read the folder: " + error.code().message());
  }
  std::sort(names.begin(), names.end());
  return names;
}

FoundImages images_of(const std::string& folder) {
  FoundImages found;
  found.classes = sorted_names(folder, true, found.skipped);
  if (found.classes.empty())
    throw file_error(ExitCode::kData, folder, "there are no folders in it",
                     "put the images of each class into a folder of its own, named like the class");
  for (size_t label = 0; label < found.classes.size(); ++label) {
    const std::string& name = found.classes[label];
    const std::string path = join_path(folder, name);
    for (const std::string& file : sorted_names(path, false, found.skipped))
      found.entries.push_back({join_path(path, file), name + "/" + file, int32_t(label)});
  }
  return found;
}

}  // namespace

ConvertReport convert_folder(const FolderOptions& given) {
  FolderOptions options = given;
  options.shuffle = !given.keep_order;
  check_image_options(options);
  return convert_images(images_of(options.folder), options);
}

}  // namespace cortado::data
