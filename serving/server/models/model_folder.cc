#include "server/models/model_folder.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/error.h"
#include "core/files/file.h"
#include "core/text/text.h"
#include "tools/program/command.h"

namespace cortado::server {

namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxDigits = 9;

std::vector<std::string> folders_in(const std::string& folder) {
  std::error_code failed;
  std::vector<std::string> names;
  fs::directory_iterator entry(folder, failed);
  if (failed) throw Error(ExitCode::kIo, folder + ": " + failed.message());
  for (; entry != fs::directory_iterator(); entry.increment(failed)) {
    if (failed) throw Error(ExitCode::kIo, folder + ": " + failed.message());
    std::error_code unknown;
    if (entry->is_directory(unknown)) names.push_back(entry->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

bool is_version(const std::string& name) {
  return !name.empty() && name.size() <= kMaxDigits && name[0] != '0' &&
         std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

std::string weights_in(const std::string& folder) {
  std::string found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string ending = entry.path().extension().string();
    if (ending != ".caffemodel" && ending != ".h5" && ending != ".safetensors") continue;
    if (!found.empty())
      throw Error(ExitCode::kIo,
                  folder + ": two files of weights: " + found + " and " + entry.path().filename().string());
    found = entry.path().filename().string();
  }
  return found;
}

}  // namespace

bool is_model_name(const std::string& name) {
  return !name.empty() && name.size() <= 128 && name[0] != '.' &&
         std::ranges::all_of(name, [](char c) { return is_plain(c) || c == '.'; });
}

std::vector<std::string> models_in(const std::string& folder) {
  std::vector<std::string> names = folders_in(folder);
  std::erase_if(names, [](const std::string& name) { return !is_model_name(name); });
  return names;
}

std::string newest_version(const std::string& model_folder) {
  std::string newest;
  for (const std::string& name : folders_in(model_folder))
    if (is_version(name) && (newest.empty() || std::stol(name) > std::stol(newest))) newest = name;
  return newest;
}

tools::Arguments arguments_for(const tools::Arguments& given, const std::string& version_folder) {
  const std::string net = join_path(version_folder, "deploy.prototxt");
  if (!file_exists(net))
    throw Error(ExitCode::kIo, net + " does not exist", "add deploy.prototxt to the version's folder");
  const std::set<std::string> own = {"model", "run", "weights", "name", "models", "labels", "like"};
  std::vector<std::string> words = {"--model=" + net};
  if (const std::string weights = weights_in(version_folder); !weights.empty())
    words.push_back("--weights=" + join_path(version_folder, weights));
  if (const std::string labels = join_path(version_folder, "labels.txt"); file_exists(labels))
    words.push_back("--labels=" + labels);
  for (const auto& [flag, values] : given.given())
    for (const std::string& value : values)
      if (!own.contains(flag)) words.push_back("--" + flag + "=" + value);
  return tools::parse_flags(tools::flags_of(tools::serve_command()), {}, words);
}

}  // namespace cortado::server
