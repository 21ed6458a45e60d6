#include "core/files/made_folders.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "core/files/file.h"
#include "core/files/replace_file.h"

namespace cortado {

namespace {

/// `folder` and those above it that are not there, the outermost first.
std::vector<std::string> missing_folders(const std::string& folder) {
  std::vector<std::string> missing;
  std::string path = without_trailing_slashes(std::filesystem::absolute(folder).string());
  for (; path != "/" && !file_exists(path); path = without_trailing_slashes(folder_of(path))) missing.push_back(path);
  std::ranges::reverse(missing);
  return missing;
}

}  // namespace

MadeFolders::MadeFolders(const std::string& folder, std::error_code& failure) {
  const std::vector<std::string> missing = missing_folders(folder);
  make_folders(folder, failure);
  std::ranges::copy_if(missing, std::back_inserter(made_), file_exists);
}

MadeFolders::~MadeFolders() {
  for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder)
    if (::rmdir(folder->c_str()) != 0) return;  // it is not empty
}

}  // namespace cortado
