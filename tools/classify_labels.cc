#include "tools/classify_labels.h"

#include <filesystem>

#include "core/error.h"
#include "core/file.h"
#include "core/log.h"
#include "data/convert.h"
#include "data/labels.h"

namespace cortado::tools {

namespace {

std::vector<std::string> likely_files(const std::string& model, const std::optional<LikeNet>& like) {
  std::vector<std::string> files;
  const std::vector<std::string> sources = like ? like->sources() : std::vector<std::string>();
  for (const std::string& source : sources) {
    const std::string beside = data::labels_file_of(source);
    files.push_back(beside);
    files.push_back(join_path(folder_of(beside), "labels.txt"));
  }
  files.push_back(join_path(folder_of(model), "labels.txt"));
  return files;
}

}  // namespace

std::vector<std::string> classify_labels(const Arguments& arguments, const std::optional<LikeNet>& like,
                                         size_t classes) {
  if (arguments.has("labels")) {
    const std::string path = arguments.text("labels");
    std::vector<std::string> names = data::read_labels(path);
    if (names.size() >= classes) return names;
    throw Error(ExitCode::kData, path + " has " + std::to_string(names.size()) + " names, the net " +
                                     std::to_string(classes) + " classes");
  }
  for (const std::string& path : likely_files(arguments.text("model"), like)) {
    std::error_code unknown;
    if (!std::filesystem::is_regular_file(path, unknown)) continue;
    try {
      std::vector<std::string> names = data::read_labels(path);
      if (names.size() != classes) continue;
      log_info() << "names of classes are those in " << path;
      return names;
    } catch (const Error&) {  // nobody said that it holds names
    }
  }
  return {};
}

}  // namespace cortado::tools
