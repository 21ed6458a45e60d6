#include "data/convert/class_folders.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

#include "core/error.h"
#include "core/files/file.h"
#include "core/text/text.h"

namespace cortado::data {

namespace {

namespace fs = std::filesystem;

/// The contents of a folder: names of folders and of files, sorted by bytes.
struct FolderNames {
  std::vector<std::string> folders, files;
};

/// Counts files that are not samples in `skipped`. Throws Error(kIo).
FolderNames names_in_folder(const std::string& folder, int64_t& skipped) {
  FolderNames names;
  try {
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string name = entry.path().filename();
      std::error_code ignored;
      if (is_no_sample(name))
        ++skipped;
      else
        (entry.is_directory(ignored) ? names.folders : names.files).push_back(name);
    }
  } catch (const fs::filesystem_error& error) {
    throw file_error(ExitCode::kIo, folder, "cannot read the folder: " + error.code().message());
  }
  std::sort(names.folders.begin(), names.folders.end());
  std::sort(names.files.begin(), names.files.end());
  return names;
}

/// A folder with one folder per class.
class ClassRoot {
 public:
  ClassRoot(const std::string& root, FoundImages& found) : root_(root), found_(found) {
    const FolderNames names = names_in_folder(root, found.skipped);
    classes_ = names.folders;
    for (const std::string& file : names.files) found.folders.loose.add(join_path(root, file));
  }

  const std::vector<std::string>& classes() const { return classes_; }

  /// Adds the images of all its classes, which must be in `found`.
  void take_images(bool tests) {
    for (const std::string& name : classes_) {
      const auto at = std::lower_bound(found_.classes.begin(), found_.classes.end(), name);
      const size_t before = found_.entries.size();
      take(name, int32_t(at - found_.classes.begin()), tests);
      if (found_.entries.size() == before) found_.folders.empty.add(join_path(root_, name));
    }
  }

 private:
  void take(const std::string& path, int32_t label, bool tests) {
    const std::string folder = join_path(root_, path);
    std::error_code unknown;
    const std::string real = fs::weakly_canonical(folder, unknown);
    if (!above_.insert(real).second) return;  // a link to a parent folder
    const FolderNames names = names_in_folder(folder, found_.skipped);
    for (const std::string& file : names.files) {
      found_.entries.push_back({join_path(folder, file), path + "/" + file, label});
      found_.entries.back().tests = tests;
    }
    if (!names.files.empty() && path.find('/') != std::string::npos) found_.folders.nested.add(folder);
    for (const std::string& name : names.folders) take(path + "/" + name, label, tests);
    above_.erase(real);
  }

  std::string root_;
  FoundImages& found_;
  std::vector<std::string> classes_;
  std::set<std::string> above_;
};

/// The test and training folders of the usual layout; both "" if the layout is different.
struct UsualLayout {
  std::string train, test;
};

UsualLayout usual_layout(const std::string& root) {
  static const std::vector<std::string> kTestNames = {"val", "valid", "validation", "test"};
  int64_t skipped = 0;
  UsualLayout found;
  size_t best = kTestNames.size();
  for (const std::string& name : names_in_folder(root, skipped).folders) {
    const std::string lower = lower_case(name);
    const size_t place = size_t(std::find(kTestNames.begin(), kTestNames.end(), lower) - kTestNames.begin());
    if (lower != "train" && place == kTestNames.size()) return {};
    if (lower == "train") found.train = name;
    if (place < best) {
      best = place;
      found.test = name;
    }
  }
  const auto has_classes = [&](const std::string& name) {
    return !name.empty() && !names_in_folder(join_path(root, name), skipped).folders.empty();
  };
  return has_classes(found.train) && has_classes(found.test) ? found : UsualLayout{};
}

FoundImages find_in_two(const std::string& root, const UsualLayout& layout) {
  FoundImages found;
  found.parted = true;
  const FolderNames names = names_in_folder(root, found.skipped);
  for (const std::string& name : names.folders)
    if (name != layout.train && name != layout.test) found.folders.unchosen.add(join_path(root, name));
  for (const std::string& file : names.files) found.folders.loose.add(join_path(root, file));
  ClassRoot train(join_path(root, layout.train), found), test(join_path(root, layout.test), found);
  std::set_union(train.classes().begin(), train.classes().end(), test.classes().begin(), test.classes().end(),
                 std::back_inserter(found.classes));
  train.take_images(false);
  test.take_images(true);
  return found;
}

}  // namespace

FoundImages find_in_class_folders(const std::string& root) {
  if (const UsualLayout layout = usual_layout(root); !layout.train.empty()) return find_in_two(root, layout);
  FoundImages found;
  ClassRoot classes(root, found);
  found.classes = classes.classes();
  if (found.classes.empty())
    throw file_error(ExitCode::kData, root, "it has no folders",
                     "put the images of each class into a separate folder with the name of the class");
  classes.take_images(false);
  return found;
}

namespace {

bool read_number(const std::string& text, int32_t& number) {
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::vector<int32_t> class_numbers(const std::vector<std::string>& labels, std::vector<std::string>& names) {
  std::vector<int32_t> numbers(labels.size());
  bool all = true;
  for (size_t i = 0; i < labels.size() && all; ++i) all = read_number(labels[i], numbers[i]);
  if (all) return numbers;
  names = labels;
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (size_t i = 0; i < labels.size(); ++i)
    numbers[i] = int32_t(std::lower_bound(names.begin(), names.end(), labels[i]) - names.begin());
  return numbers;
}

}  // namespace cortado::data
