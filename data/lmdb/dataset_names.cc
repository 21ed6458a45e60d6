#include "data/lmdb/dataset_names.h"

#include <algorithm>
#include <filesystem>

#include "core/error.h"
#include "core/files/file.h"

namespace cortado::data {

namespace {

namespace fs = std::filesystem;

constexpr int64_t kMaxOfNames = 64 << 20;
constexpr const char* kNameParts[] = {kLabelsPart, kLabelMapPart};

/// The target of a link next to the dataset: relative, so that it stays valid if both are moved together.
fs::path link_target(const std::string& dataset, const char* part) {
  return join_path(file_name_of(without_trailing_slashes(dataset)), part);
}

bool is_our_link(const std::string& dataset, const char* part) {
  std::error_code none;
  return fs::read_symlink(names_beside(dataset, part), none) == link_target(dataset, part) && !none;
}

bool is_there(const std::string& path) {
  std::error_code none;
  return fs::exists(fs::symlink_status(path, none));
}

bool is_file(const std::string& path) {
  std::error_code none;
  return fs::is_regular_file(path, none);
}

std::string first_file(const std::vector<std::string>& paths) {
  const auto found = std::find_if(paths.begin(), paths.end(), is_file);
  return found == paths.end() ? "" : *found;
}

const std::string& text_of(const DatasetNames& names, const char* part) {
  return part == kLabelsPart ? names.labels : names.label_map;
}

}  // namespace

std::string names_beside(const std::string& dataset, const char* part) {
  return without_trailing_slashes(dataset) + "." + part;
}

std::vector<std::string> names_files(const std::string& dataset, const char* part) {
  const std::string folder = without_trailing_slashes(dataset);
  return {join_path(folder, part), names_beside(dataset, part), join_path(folder_of(folder), part)};
}

std::string names_file_of(const std::string& dataset, const char* part) {
  return first_file(names_files(dataset, part));
}

std::string own_names_file_of(const std::string& dataset, const char* part) {
  return first_file({join_path(without_trailing_slashes(dataset), part), names_beside(dataset, part)});
}

DatasetNames read_names(const std::string& dataset) {
  DatasetNames names;
  if (const std::string file = names_file_of(dataset, kLabelsPart); !file.empty())
    names.labels = read_file(file, kMaxOfNames);
  if (const std::string file = names_file_of(dataset, kLabelMapPart); !file.empty())
    names.label_map = read_file(file, kMaxOfNames);
  return names;
}

void check_names_beside(const std::string& dataset, const DatasetNames& names, bool replace) {
  for (const char* part : kNameParts) {
    const std::string beside = names_beside(dataset, part), &text = text_of(names, part);
    if (replace || text.empty() || !is_there(beside) || is_our_link(dataset, part)) continue;
    if (is_file(beside) && read_file(beside, kMaxOfNames) == text) continue;
    throw file_error(ExitCode::kIo, beside, "exists already, with other names than the new ones of " + dataset,
                     "choose another name, or use --force to replace both");
  }
}

void write_names(const std::string& folder, const DatasetNames& names) {
  for (const char* part : kNameParts)
    if (const std::string& text = text_of(names, part); !text.empty())
      write_file_atomically(join_path(folder, part), text);
}

void remove_names_beside(const std::string& dataset) {
  for (const char* part : kNameParts) {
    const std::string beside = names_beside(dataset, part);
    std::error_code error;
    if (is_our_link(dataset, part) || !is_there(beside) || fs::remove(beside, error)) continue;
    throw file_error(ExitCode::kIo, beside, "cannot replace these names: " + error.message());
  }
}

void link_names_beside(const std::string& dataset) {
  for (const char* part : kNameParts) {
    const std::string beside = names_beside(dataset, part);
    const std::string within = join_path(without_trailing_slashes(dataset), part);
    std::error_code error;
    if (!is_file(within)) {
      if (is_our_link(dataset, part)) fs::remove(beside, error);
      continue;
    }
    if (is_there(beside)) continue;
    fs::create_symlink(link_target(dataset, part), beside, error);
    if (error) fs::copy_file(within, beside, error);  // for file systems without links
  }
}

}  // namespace cortado::data
