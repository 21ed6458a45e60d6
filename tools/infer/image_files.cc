#include "tools/infer/image_files.h"

#include <glob.h>

#include <algorithm>
#include <filesystem>

#include "core/error.h"
#include "core/files/file.h"
#include "core/files/file_error.h"
#include "core/text/text.h"
#include "data/sample.h"
#include "tools/output/terminal.h"

namespace cortado::tools {

namespace {

namespace fs = std::filesystem;

bool is_named_as_image(const fs::path& path) {
  const std::string ending = lower_case(path.extension().native());
  for (const char* known :
       {".jpg", ".jpeg", ".jpe", ".png", ".bmp", ".ppm", ".pgm", ".pnm", ".tif", ".tiff", ".webp", ".gif", ".jp2"})
    if (ending == known) return true;
  return false;
}

bool is_hidden(const fs::path& path) { return path.filename().native().starts_with('.'); }

void add_folder(const std::string& folder, std::vector<std::string>& files) {
  std::vector<std::string> found;
  try {
    for (auto at = fs::recursive_directory_iterator(folder); at != fs::recursive_directory_iterator(); ++at) {
      std::error_code ignored;
      if (at->is_directory(ignored) && is_hidden(at->path()))
        at.disable_recursion_pending();
      else if (at->is_regular_file(ignored) && !is_hidden(at->path()) && is_named_as_image(at->path()))
        found.push_back(at->path());
    }
  } catch (const fs::filesystem_error& error) {
    throw file_error(ExitCode::kIo, folder, "cannot read the folder: " + error.code().message());
  }
  if (found.empty()) throw file_error(ExitCode::kData, folder, "there are no images in this folder");
  std::sort(found.begin(), found.end());
  files.insert(files.end(), found.begin(), found.end());
}

void add(const std::string& path, std::vector<std::string>& files) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored))
    add_folder(path, files);
  else
    files.push_back(path);
}

void add_matches(const std::string& pattern, std::vector<std::string>& files) {
  glob_t found{};
  const int status = ::glob(pattern.c_str(), 0, nullptr, &found);
  const std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (status != 0 || paths.empty()) throw file_error(ExitCode::kData, pattern, "no file matches this pattern");
  for (const std::string& path : paths) add(path, files);
}

}  // namespace

std::vector<std::string> image_files(const std::vector<std::string>& operands) {
  std::vector<std::string> files;
  for (const std::string& operand : operands) {
    if (operand.find_first_of("*?[") != std::string::npos && !file_exists(operand))
      add_matches(operand, files);
    else
      add(operand, files);
  }
  return files;
}

bool is_trusted_format(std::string_view content) {
  using namespace std::string_view_literals;
  return content.starts_with("\xFF\xD8\xFF"sv) || content.starts_with("\x89PNG\r\n\x1A\n"sv) ||
         content.starts_with("P5"sv) || content.starts_with("P6"sv);
}

int show_bad_image(const std::string& path) {
  try {
    throw;
  } catch (const data::SampleError& error) {
    show_error(Error(ExitCode::kData, file_mistake(path, error.what(), error.hint())).what());
    return int(ExitCode::kData);
  } catch (const Error& error) {
    show_error(error.what());
    return int(error.code());
  }
}

}  // namespace cortado::tools
