#include <algorithm>
#include <filesystem>

#include "core/file.h"
#include "core/file_error.h"
#include "data/convert_images.h"

namespace cortado::data {

namespace {

/// Names of the folders (or of the files) in `folder`, sorted by bytes, hidden ones left out. Throws Error(kIo).
std::vector<std::string> sorted_names(const std::string& folder, bool folders) {
  std::vector<std::string> names;
  try {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string name = entry.path().filename();
      std::error_code ignored;
      const bool wanted = folders ? entry.is_directory(ignored) : !entry.is_directory(ignored);
      if (wanted && name[0] != '.') names.push_back(name);
    }
  } catch (const std::filesystem::filesystem_error& error) {
    throw file_error(ExitCode::kIo, folder, "cannot read the folder: " + error.code().message());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

ConvertReport convert_folder(const FolderOptions& given) {
  FolderOptions options = given;
  options.shuffle = !given.keep_order;
  check_image_options(options);
  const std::vector<std::string> classes = sorted_names(options.folder, true);
  if (classes.empty())
    throw file_error(ExitCode::kData, options.folder, "there are no folders in it",
                     "put the images of each class into a folder of its own, named like the class");
  std::vector<ImageEntry> entries;
  std::string labels;
  for (size_t label = 0; label < classes.size(); ++label) {
    const std::string folder = join_path(options.folder, classes[label]);
    for (const std::string& name : sorted_names(folder, false))
      entries.push_back({join_path(folder, name), classes[label] + "/" + name, int32_t(label), 0});
    labels += classes[label] + "\n";
  }
  DatasetBuilder builder(options, int64_t(entries.size()));
  add_images(std::move(entries), "", options, builder);
  ConvertReport report = builder.finish();
  report.classes = classes;
  if (report.kept) write_file_atomically(labels_file_of(options.output), labels);
  return report;
}

std::string labels_file_of(const std::string& output) {
  std::string path = output;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path + ".labels.txt";
}

}  // namespace cortado::data
